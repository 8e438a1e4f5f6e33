//! SentencePiece's compiled replacement rules as the reference applies them, which differs from SentencePiece:
//! by grapheme clusters, and of the keys that a cluster starts with the shortest counts.

use super::super::aligned::Aligned;
use super::super::section::Section;
use crate::error::Result;
use crate::text::charsmap::CharsMap;
use crate::text::grapheme::{is_mark, is_one_syllable, is_prepended};

/// Clusters of so many bytes or more are looked up character by character only.
const LONG_CLUSTER: usize = 6;

pub(in super::super) struct Precompiled {
    rules: CharsMap,
}

impl Precompiled {
    pub fn read(section: &Section) -> Result<Self> {
        let section = section.get("precompiled_charsmap");
        let bytes = decode_base64(section.text()?)
            .ok_or_else(|| section.damaged("not base64 with padding"))?;
        let rules = CharsMap::read(&bytes)
            .map_err(|(at, what)| section.damaged(format!("{what} (decoded, byte {at})")))?;
        Ok(Self { rules })
    }

    pub fn apply(&self, text: &mut Aligned) {
        let source = text.text();
        let mut out: Vec<(char, isize)> = Vec::with_capacity(source.len());
        let mut is_changed = false;
        let mut replace = |out: &mut Vec<(char, isize)>, old: &str| {
            let Some(new) = self.rules.shortest_match(old) else { return false };
            is_changed = true;
            push(out, old.chars().count() as isize, new);
            true
        };
        let mut rest = source;
        while let Some((cluster, after)) = rest.split_at_checked(cluster_end(rest)) {
            rest = after;
            if cluster.is_empty() {
                break;
            }
            if cluster.len() < LONG_CLUSTER && replace(&mut out, cluster) {
                continue;
            }
            for (at, c) in cluster.char_indices() {
                let one = cluster.get(at..at + c.len_utf8()).unwrap_or_default();
                if !replace(&mut out, one) {
                    out.push((c, 0));
                }
            }
        }
        if is_changed {
            text.transform(out);
        }
    }
}

/// Puts `new` in place of `old` characters. Of more, the last are put in; of fewer, the last swallows the rest,
/// and if there is none, the one before. At the beginning there is none: what was removed there is then taken
/// for what comes next, as in the reference.
fn push(out: &mut Vec<(char, isize)>, old: isize, new: &str) {
    let surplus = new.chars().count() as isize - old;
    out.extend(new.chars().map(|c| (c, 0)));
    if surplus > 0 {
        out.iter_mut().rev().take(surplus.unsigned_abs()).for_each(|(_, change)| *change = 1);
    } else if let Some((_, change)) = out.last_mut() {
        *change += surplus;
    }
}

/// Where the grapheme cluster (UAX 29) ends that `text` starts with. Exact for what is shorter than
/// [`LONG_CLUSTER`]: emoji and Indic conjuncts, whose further rules are left out, are longer.
fn cluster_end(text: &str) -> usize {
    let mut characters = text.char_indices();
    let Some((_, mut before)) = characters.next() else { return 0 };
    for (at, c) in characters {
        let joined = match (before, c) {
            ('\r', '\n') => true,
            (a, b) if is_control(a) || is_control(b) => false,
            (_, b) if is_mark(b) => true,
            (a, _) if is_prepended(a) => true,
            (a, b) => is_one_syllable(a, b),
        };
        if !joined {
            return at;
        }
        before = c;
    }
    text.len()
}

/// `Grapheme_Cluster_Break=Control`
fn is_control(c: char) -> bool {
    let formats = matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{13430}'..='\u{1343f}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}');
    c.is_control() || formats && !is_mark(c)
}

/// Bytes from base64 with the usual alphabet and padding.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let digit = |letter: u8| match letter {
        b'A'..=b'Z' => Some(letter - b'A'),
        b'a'..=b'z' => Some(letter - b'a' + 26),
        b'0'..=b'9' => Some(letter - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let digits = text.strip_suffix("==").or(text.strip_suffix('=')).unwrap_or(text);
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    for group in digits.as_bytes().chunks(4) {
        let bits = group
            .iter()
            .try_fold(0u32, |bits, &letter| Some(bits << 6 | u32::from(digit(letter)?)))?;
        let unused = 24 - 6 * group.len() as u32;
        let bytes = (bits << unused).to_be_bytes();
        // Four digits are three bytes, three are two, two are one; one alone is none.
        out.extend_from_slice(bytes.get(1..group.len()).filter(|bytes| !bytes.is_empty())?);
    }
    Some(out).filter(|_| text.len().is_multiple_of(4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_any_length_is_read_and_damage_found() {
        // The examples of RFC 4648.
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg==", "foob"),
            ("Zm9vYmE=", "fooba"),
        ] {
            assert_eq!(decode_base64(text).as_deref(), Some(bytes.as_bytes()), "{text}");
        }
        for text in ["Zg", "Zg=", "Z===", "Zm9v=", "Zm 9", "Zm9v\n", "=", "Zm-_", "Zé=="] {
            assert_eq!(decode_base64(text), None, "{text}");
        }
        assert_eq!(decode_base64("+/+/").as_deref(), Some(&[0xfb, 0xff, 0xbf][..]));
    }
}
