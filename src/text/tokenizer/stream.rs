//! From ids back to text, token by token: bytes are joined to characters, and nothing is given away that a later
//! token may still change.

use super::Tokenizer;
use crate::text::grapheme;

/// Joins the bytes of tokens to characters. What is no UTF-8 becomes U+FFFD.
pub(super) struct Joiner {
    /// The beginning of a character, at most three bytes.
    pending: Vec<u8>,
    /// Whether each byte becomes one U+FFFD, as in SentencePiece, or each run that begins a character.
    each_byte: bool,
}

impl Joiner {
    pub fn new(each_byte: bool) -> Self {
        Self { pending: Vec::new(), each_byte }
    }

    pub fn push(&mut self, bytes: &[u8], out: &mut String) {
        self.pending.extend_from_slice(bytes);
        let mut start = 0;
        while let Some(rest) = self.pending.get(start..).filter(|rest| !rest.is_empty()) {
            let (valid, bad) = match std::str::from_utf8(rest) {
                Ok(valid) => (valid, Some(0)),
                Err(error) => {
                    let valid = rest.get(..error.valid_up_to()).unwrap_or_default();
                    (std::str::from_utf8(valid).unwrap_or_default(), error.error_len())
                }
            };
            out.push_str(valid);
            start += valid.len();
            match bad {
                Some(0) => {}
                Some(length) => {
                    out.push(char::REPLACEMENT_CHARACTER);
                    start += if self.each_byte { 1 } else { length };
                }
                None => break,
            }
        }
        self.pending.drain(..start);
    }

    /// Gives up waiting for the rest of a character.
    pub fn finish(&mut self, out: &mut String) {
        let count = if self.each_byte { self.pending.len() } else { self.pending.len().min(1) };
        out.extend(std::iter::repeat_n(char::REPLACEMENT_CHARACTER, count));
        self.pending.clear();
    }
}

/// Decodes a text while it is generated.
///
/// What [`TextStream::push`] returns, put together, with what [`TextStream::finish`] returns at the end, is the
/// decoded text. No piece of it ends within a character, nor within a cluster of characters that readers take
/// for one (an emoji of several, a letter of a script that writes vowels as marks), as far as the last
/// character tells: an accent that follows a Latin letter of its own is not waited for.
pub struct TextStream {
    joiner: Joiner,
    /// Whether nothing was written so far, and a space in front is one that encoding put there.
    at_start: bool,
    /// Decoded, and not given away yet.
    held: String,
}

impl TextStream {
    /// `at_start`: the ids are a text of their own, whose first space is one that encoding put there, and not the
    /// continuation of another.
    pub fn new(tokenizer: &Tokenizer, at_start: bool) -> Self {
        Self { joiner: Joiner::new(tokenizer.is_sentencepiece()), at_start, held: String::new() }
    }

    /// Takes the next id and returns what of the text is certain now, often nothing.
    pub fn push(&mut self, tokenizer: &Tokenizer, id: u32) -> String {
        tokenizer.write(id, &mut self.at_start, &mut self.joiner, &mut self.held);
        let certain = certain(&self.held);
        let rest = self.held.split_off(certain);
        std::mem::replace(&mut self.held, rest)
    }

    /// The rest: what was held back, and U+FFFD where a character stayed incomplete.
    pub fn finish(mut self) -> String {
        self.joiner.finish(&mut self.held);
        self.held
    }
}

/// How much of `text` no further text joins in one cluster.
fn certain(text: &str) -> usize {
    if !text.chars().next_back().is_some_and(may_go_on) {
        return text.len();
    }
    let mut last = 0;
    for end in grapheme::ends(text) {
        if end == text.len() {
            break;
        }
        last = end;
    }
    last
}

/// Whether characters that belong to this one often follow.
fn may_go_on(c: char) -> bool {
    matches!(c,
        '\r'
        // Number signs of Arabic; Indic and other scripts whose vowels are marks.
        | '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}' | '\u{900}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{1900}'..='\u{1cff}' | '\u{a800}'..='\u{abff}' | '\u{11000}'..='\u{11fff}'
        // Accents, after which others may follow; letters of Hangul; joiners and selectors.
        | '\u{300}'..='\u{36f}' | '\u{1100}'..='\u{11ff}' | '\u{200d}' | '\u{fe0e}'..='\u{fe0f}' | '\u{20e3}'
        // Symbols that become emoji by what follows, and emoji.
        | '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}' | '\u{e0020}'..='\u{e007f}')
}
