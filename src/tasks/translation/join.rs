//! The parts of one text put together again, in reading order, as they become known.

use super::copy;
use super::plan::{Part, slice};
use super::result::{TranslatedSentence, Translation};

/// The translation of one unit: its text, and the sentence with ranges in it from 0.
pub(super) struct Done {
    pub target: String,
    pub sentence: TranslatedSentence,
}

/// One text as far as it is put together.
#[derive(Default)]
pub(super) struct Joined {
    whole: Translation,
    /// Parts in `whole`.
    parts: usize,
    /// Bytes of `whole.text` that were taken.
    taken: usize,
    /// Where the sentence before ends in the source, if nothing stands between it and what comes.
    previous_end: Option<usize>,
}

impl Joined {
    /// Adds the parts that come next and are known, taking their translations out of `done`.
    pub fn advance(&mut self, text: &str, parts: &[Part], done: &mut [Option<Done>]) {
        for part in parts.get(self.parts..).unwrap_or_default() {
            match part {
                Part::Gap(range) => {
                    self.whole.text.push_str(slice(text, range));
                    self.previous_end = None;
                }
                Part::Copied(range) => {
                    let sentence = TranslatedSentence {
                        source: range.clone(),
                        target: 0..range.len(),
                        ..TranslatedSentence::default()
                    };
                    self.add(text, slice(text, range), sentence);
                }
                Part::Unit(unit) => {
                    let Some(Done { target, sentence }) =
                        done.get_mut(*unit).and_then(Option::take)
                    else {
                        return;
                    };
                    self.add(text, &target, sentence);
                }
            }
            self.parts += 1;
        }
    }

    fn add(&mut self, text: &str, target: &str, sentence: TranslatedSentence) {
        let source = sentence.source.clone();
        let whole = &mut self.whole;
        if self.previous_end == Some(source.start)
            && copy::needs_space(text, source.start, &whole.text, target)
        {
            whole.text.push(' ');
        }
        whole.sentences.push(sentence.shifted(0, whole.text.len()));
        whole.text.push_str(target);
        self.previous_end = Some(source.end);
    }

    /// The text that was added since the last call.
    pub fn take_text(&mut self) -> String {
        let fresh = self.whole.text.get(self.taken..).unwrap_or_default().to_owned();
        self.taken = self.whole.text.len();
        fresh
    }

    /// The whole, if all `parts` are in it.
    pub fn finish(self, parts: &[Part]) -> Option<Translation> {
        (self.parts == parts.len()).then_some(self.whole)
    }
}
