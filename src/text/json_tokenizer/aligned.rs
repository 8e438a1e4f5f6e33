//! A text on its way to a model, and where in the source each part of it comes from.

use std::ops::Range;

/// Byte range of the source. All bytes of a character have the same.
type Span = (usize, usize);

/// A stretch of the source as normalizers and pre-tokenizers have changed it so far. Spans never go back.
pub(super) struct Aligned {
    text: String,
    /// One for each byte of the text.
    spans: Vec<Span>,
    /// Byte of the source at which the stretch starts.
    base: usize,
}

impl Aligned {
    /// The whole source, unchanged.
    pub fn new(source: &str) -> Self {
        let mut spans = Vec::with_capacity(source.len());
        for (start, c) in source.char_indices() {
            let end = start + c.len_utf8();
            spans.resize(end, (start, end));
        }
        Self { text: source.to_owned(), spans, base: 0 }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Byte of the source at which the stretch starts.
    pub fn base(&self) -> usize {
        self.base
    }

    /// Bytes of the source that bytes of the text come from; an empty range has none and gives an empty one.
    pub fn source(&self, range: Range<usize>) -> Range<usize> {
        let spans = self.spans.get(range).unwrap_or_default();
        match (spans.first(), spans.last()) {
            (Some(first), Some(last)) => first.0..last.1,
            _ => self.base..self.base,
        }
    }

    /// A part of the text; `range` lies between characters.
    pub fn cut(&self, range: Range<usize>) -> Self {
        let base = self.source(range.clone()).start;
        let text = self.text.get(range.clone()).unwrap_or_default().to_owned();
        Self { text, spans: self.spans.get(range).unwrap_or_default().to_vec(), base }
    }

    /// The whole text as a part: it starts where its first character comes from.
    pub fn cut_whole(&mut self) {
        self.base = self.spans.first().map_or(self.base, |first| first.0);
    }

    /// Puts any number of characters in the place of each one; they all come from where it came from.
    pub fn each(&mut self, mut change: impl FnMut(char, &mut dyn FnMut(char))) {
        let mut text = String::with_capacity(self.text.len() + 8);
        let mut spans = Vec::with_capacity(self.text.len() + 8);
        for (at, c) in self.text.char_indices() {
            let span = self.spans.get(at).copied().unwrap_or_default();
            change(c, &mut |new| {
                text.push(new);
                spans.resize(text.len(), span);
            });
        }
        (self.text, self.spans) = (text, spans);
    }

    /// Keeps some characters.
    pub fn keep(&mut self, is_kept: impl Fn(char) -> bool) {
        if !self.text.chars().all(&is_kept) {
            self.each(|c, give| {
                if is_kept(c) {
                    give(c);
                }
            });
        }
    }

    /// Makes every character a small letter.
    pub fn lowercase(&mut self) {
        if self.text.is_ascii() {
            self.text.make_ascii_lowercase();
        } else {
            self.each(|c, give| c.to_lowercase().for_each(give));
        }
    }

    /// Replaces the text from its beginning on. With each new character comes a number: at most 0, it stands for
    /// the next character and swallows that many more; above, it is put in and comes from where the one before
    /// came from. What the numbers do not reach is gone.
    pub fn transform(&mut self, new: impl IntoIterator<Item = (char, isize)>) {
        let mut text = String::with_capacity(self.text.len() + 8);
        let mut spans = Vec::with_capacity(self.text.len() + 8);
        let mut old = self.text.char_indices();
        let mut before = (self.base, self.base);
        for (c, change) in new {
            let mut span = before;
            if change <= 0 {
                let mut replaced = old.by_ref().take(change.unsigned_abs().saturating_add(1));
                if let Some((at, _)) = replaced.next() {
                    span = self.spans.get(at).copied().unwrap_or(before);
                    let last = replaced.last().map_or(at, |(at, _)| at);
                    before = self.spans.get(last).copied().unwrap_or(before);
                }
            }
            text.push(c);
            spans.resize(text.len(), span);
        }
        (self.text, self.spans) = (text, spans);
    }

    /// Puts `new` in front, as a part of the first character. An empty text stays empty.
    pub fn prepend(&mut self, new: &str) {
        if let Some(&first) = self.spans.first() {
            self.text.insert_str(0, new);
            self.spans.splice(0..0, std::iter::repeat_n(first, new.len()));
        }
    }

    /// Puts `new` in place of each of the ascending `ranges`, as a part of the last character in it.
    pub fn replace(&mut self, ranges: &[Range<usize>], new: &str) {
        if ranges.is_empty() {
            return;
        }
        let mut text = String::with_capacity(self.text.len());
        let mut spans = Vec::with_capacity(self.text.len());
        let mut start = 0;
        for range in ranges.iter().cloned().chain(Some(self.text.len()..self.text.len())) {
            text.push_str(self.text.get(start..range.start).unwrap_or_default());
            spans.extend_from_slice(self.spans.get(start..range.start).unwrap_or_default());
            if !range.is_empty() {
                text.push_str(new);
                let last = self.spans.get(range.end - 1).copied();
                spans.resize(text.len(), last.unwrap_or_default());
            }
            start = range.end;
        }
        (self.text, self.spans) = (text, spans);
    }
}
