//! Added tokens: those that are taken out of a text before it is cut into words, special ones among them.

use super::aligned::Aligned;
use super::categories::{self, WORD};
use super::normalizers::Normalizer;
use super::section::Section;
use super::splits::Split;
use super::vocabulary::Vocabulary;
use crate::error::Result;
use crate::text::trie::Trie;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// How a token is found.
#[derive(Clone, PartialEq)]
struct Rules {
    content: String,
    /// Not between or beside letters.
    single_word: bool,
    /// White space on that side is a part of it.
    lstrip: bool,
    rstrip: bool,
    /// In the normalised text, in the way that its own text is normalised.
    normalized: bool,
    special: bool,
}

/// Added tokens and the two passes that find them.
pub(super) struct Added {
    /// Ascending by id, each once.
    tokens: Vec<(u32, Rules)>,
    ids: BTreeMap<String, u32>,
    raw: Trie,
    normalized: Trie,
}

impl Rules {
    fn read(section: &Section) -> Result<Self> {
        Ok(Self {
            content: section.get("content").text()?.to_owned(),
            single_word: section.get("single_word").flag()?,
            lstrip: section.get("lstrip").flag()?,
            rstrip: section.get("rstrip").flag()?,
            normalized: section.get("normalized").flag()?,
            special: section.get("special").flag()?,
        })
    }
}

impl Added {
    /// Reads the list; what the vocabulary has keeps its id, others follow behind it. Their ids in the file are
    /// not asked, as in the reference.
    pub fn read(
        section: &Section,
        vocabulary: &Vocabulary,
        normalizer: Option<&Normalizer>,
    ) -> Result<Self> {
        let list = if section.is_there() { section.list()? } else { Vec::new() };
        let mut tokens: Vec<(u32, Rules)> = Vec::with_capacity(list.len());
        let mut ids: BTreeMap<String, u32> = BTreeMap::new();
        let mut next = vocabulary.len() as u32;
        for section in &list {
            let rules = Rules::read(section)?;
            if rules.content.is_empty() {
                continue;
            }
            let known = ids.get(&rules.content).copied();
            let id = known.or_else(|| vocabulary.id(&rules.content)).unwrap_or_else(|| {
                next += 1;
                next - 1
            });
            ids.insert(rules.content.clone(), id);
            tokens.push((id, rules));
        }
        let (raw, normalized) = tries(section, &tokens, normalizer)?;
        // Of a token that stands there twice the last rules count.
        tokens.reverse();
        tokens.sort_by_key(|&(id, _)| id);
        tokens.dedup_by_key(|&mut (id, _)| id);
        Ok(Self { tokens, ids, raw, normalized })
    }

    pub fn id(&self, text: &str) -> Option<u32> {
        self.ids.get(text).copied()
    }

    pub fn text(&self, id: u32) -> Option<&str> {
        self.rules(id).map(|rules| rules.content.as_str())
    }

    pub fn is_special(&self, id: u32) -> bool {
        self.rules(id).is_some_and(|rules| rules.special)
    }

    pub fn last_id(&self) -> Option<u32> {
        self.tokens.last().map(|&(id, _)| id)
    }

    fn rules(&self, id: u32) -> Option<&Rules> {
        let at = self.tokens.binary_search_by_key(&id, |&(id, _)| id).ok()?;
        self.tokens.get(at).map(|(_, rules)| rules)
    }

    /// Takes tokens out of the source, normalises what is between, and takes tokens out of that.
    pub fn split(&self, source: &str, normalizer: Option<&Normalizer>) -> Vec<Split> {
        let mut out = Vec::new();
        for mut split in self.cut(&self.raw, Split { text: Aligned::new(source), token: None }) {
            if split.token.is_some() {
                out.push(split);
                continue;
            }
            if let Some(normalizer) = normalizer {
                normalizer.apply(&mut split.text);
            }
            out.extend(self.cut(&self.normalized, split));
        }
        out
    }

    fn cut(&self, trie: &Trie, mut split: Split) -> Vec<Split> {
        let text = split.text.text();
        let found = self.find(trie, text);
        if found.is_empty() {
            if text.is_empty() {
                return Vec::new();
            }
            split.text.cut_whole();
            return vec![split];
        }
        let mut out = Vec::with_capacity(found.len() * 2 + 1);
        let mut push = |range: Range<usize>, token| {
            if !range.is_empty() {
                out.push(Split { text: split.text.cut(range), token });
            }
        };
        let mut end = 0;
        for (range, id) in found {
            push(end..range.start.max(end), None);
            end = range.end;
            push(range, Some(id));
        }
        push(end..text.len(), None);
        out
    }

    /// Tokens from left to right, of several that start at the same place the longest.
    fn find(&self, trie: &Trie, text: &str) -> Vec<(Range<usize>, u32)> {
        let mut found = Vec::new();
        // Where the search goes on, and where the last token ends with its white space.
        let (mut at, mut taken) = (0, 0);
        while at < text.len() {
            let rest = text.as_bytes().get(at..).unwrap_or_default();
            let Some((length, id)) = trie.prefixes(rest).last() else {
                at += 1;
                continue;
            };
            let (mut start, mut end) = (at, at + length);
            at = end;
            let (Some(rules), Some((before, _)), Some((_, after))) =
                (self.rules(id), text.split_at_checked(start), text.split_at_checked(end))
            else {
                continue;
            };
            let is_word = |c: Option<char>| c.is_some_and(|c| categories::is(c, WORD));
            let touches = is_word(before.chars().next_back()) || is_word(after.chars().next());
            if rules.single_word && touches {
                continue;
            }
            if rules.lstrip {
                start = before.trim_end().len().max(taken);
            }
            if rules.rstrip {
                end += after.len() - after.trim_start().len();
            }
            taken = end;
            found.push((start..end, id));
        }
        found
    }
}

/// What is looked for in the source, and in the normalised text. Of equal texts the first counts, special tokens
/// before others.
fn tries(
    section: &Section,
    tokens: &[(u32, Rules)],
    normalizer: Option<&Normalizer>,
) -> Result<(Trie, Trie)> {
    let special = tokens.iter().filter(|(_, rules)| rules.special);
    let names: BTreeSet<&str> = special.clone().map(|(_, rules)| rules.content.as_str()).collect();
    let others = tokens.iter().filter(|(_, rules)| !names.contains(rules.content.as_str()));
    let mut keys: [BTreeMap<String, u32>; 2] = Default::default();
    for (id, rules) in special.chain(others) {
        let mut text = Aligned::new(&rules.content);
        if rules.normalized
            && let Some(normalizer) = normalizer
        {
            normalizer.apply(&mut text);
        }
        let text = text.text();
        if text.is_empty() {
            let what = format!(
                "the added token {:?}, of which the normalizer leaves nothing",
                rules.content
            );
            return Err(section.unsupported(&what, "others are"));
        }
        if let Some(keys) = keys.get_mut(usize::from(rules.normalized)) {
            keys.entry(text.to_owned()).or_insert(*id);
        }
    }
    let [raw, normalized] = keys.map(|keys| {
        let keys = keys.iter().map(|(key, id)| (key.as_bytes(), *id)).collect();
        Trie::build(keys).unwrap_or_default()
    });
    Ok((raw, normalized))
}
