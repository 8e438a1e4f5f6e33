//! Tokens by id and by text: all texts in one buffer, and a hash table that holds no text.

use hashbrown::HashTable;
use std::hash::{DefaultHasher, Hasher};

/// A token: its id and where its text lies.
#[derive(Clone, Copy)]
struct Entry {
    id: u32,
    start: u32,
    end: u32,
}

/// The vocabulary of a model. Ids need not be dense.
#[derive(Default)]
pub(super) struct Vocabulary {
    texts: String,
    /// Ascending by id, once finished.
    entries: Vec<Entry>,
    /// Indices into `entries` by text.
    found: HashTable<u32>,
}

impl Vocabulary {
    /// Adds a token; `false`, and nothing added, for a text that is there already.
    ///
    /// The caller keeps the texts together below 4 GiB.
    pub fn push(&mut self, text: &str, id: u32) -> bool {
        let index = self.entries.len() as u32;
        let start = self.texts.len() as u32;
        let Self { texts, entries, found } = self;
        let same = |&other: &u32| spelled(texts, entries, other) == Some(text);
        let rehash = |&other: &u32| hash(spelled(texts, entries, other).unwrap_or_default());
        match found.entry(hash(text), same, rehash) {
            hashbrown::hash_table::Entry::Occupied(_) => return false,
            hashbrown::hash_table::Entry::Vacant(slot) => slot.insert(index),
        };
        texts.push_str(text);
        entries.push(Entry { id, start, end: texts.len() as u32 });
        true
    }

    /// Puts the tokens in the order of their ids; of two with the same id both texts are the error.
    pub fn finish(&mut self) -> Result<(), (u32, String, String)> {
        if !self.entries.is_sorted_by_key(|entry| entry.id) {
            self.entries.sort_unstable_by_key(|entry| (entry.id, entry.start));
            self.found.clear();
            let Self { texts, entries, found } = self;
            let hash_of = |&index: &u32| hash(spelled(texts, entries, index).unwrap_or_default());
            for index in 0..entries.len() as u32 {
                found.insert_unique(hash_of(&index), index, hash_of);
            }
        }
        for pair in self.entries.windows(2) {
            if let [a, b] = pair
                && a.id == b.id
            {
                let text = |entry: &Entry| self.slice(entry).unwrap_or_default().to_owned();
                return Err((a.id, text(a), text(b)));
            }
        }
        Ok(())
    }

    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Tokens in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &str)> {
        self.entries.iter().map(|entry| (entry.id, self.slice(entry).unwrap_or_default()))
    }

    /// The highest id.
    pub fn last_id(&self) -> Option<u32> {
        self.entries.last().map(|entry| entry.id)
    }

    pub fn text(&self, id: u32) -> Option<&str> {
        self.slice(self.entries.get(self.index_of_id(id)?)?)
    }

    pub fn id(&self, text: &str) -> Option<u32> {
        self.entries.get(self.index(text)? as usize).map(|entry| entry.id)
    }

    /// Rank of a token among all, by id.
    pub fn index(&self, text: &str) -> Option<u32> {
        let same = |&other: &u32| spelled(&self.texts, &self.entries, other) == Some(text);
        self.found.find(hash(text), same).copied()
    }

    /// The id of the token of that rank.
    pub fn id_at(&self, index: u32) -> Option<u32> {
        self.entries.get(index as usize).map(|entry| entry.id)
    }

    fn index_of_id(&self, id: u32) -> Option<usize> {
        // Dense ids are the rule.
        let direct = self.entries.get(id as usize).filter(|entry| entry.id == id);
        match direct {
            Some(_) => Some(id as usize),
            None => self.entries.binary_search_by_key(&id, |entry| entry.id).ok(),
        }
    }

    fn slice(&self, entry: &Entry) -> Option<&str> {
        self.texts.get(entry.start as usize..entry.end as usize)
    }
}

fn spelled<'a>(texts: &'a str, entries: &[Entry], index: u32) -> Option<&'a str> {
    let entry = entries.get(index as usize)?;
    texts.get(entry.start as usize..entry.end as usize)
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    hasher.finish()
}
