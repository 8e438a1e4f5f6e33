//! A read-only trie over byte strings, for pieces: nodes in breadth-first order, children side by side.

/// Marks a node at which no key ends.
const NO_VALUE: u32 = u32::MAX;

/// Maps keys to ids. The children of node `i` are the nodes `first_child[i]..first_child[i + 1]`.
#[derive(Default)]
pub(crate) struct Trie {
    /// Byte on the edge into each node; ascending among siblings.
    labels: Vec<u8>,
    first_child: Vec<u32>,
    values: Vec<u32>,
}

impl Trie {
    /// The node from which every walk starts.
    pub const ROOT: u32 = 0;

    /// Builds the trie. On a key given twice, the ids of both are returned as the error.
    ///
    /// There are at most as many nodes as bytes in the keys, plus one; callers keep these below 2^32.
    pub fn build(mut keys: Vec<(&[u8], u32)>) -> Result<Self, (u32, u32)> {
        keys.sort_unstable();
        for pair in keys.windows(2) {
            if let [(a, first), (b, second)] = pair
                && a == b
            {
                return Err((*first, *second));
            }
        }
        let mut trie = Self { labels: vec![0], first_child: Vec::new(), values: Vec::new() };
        // Per node, in order: the keys below it and the length of the prefix they share.
        let mut open = std::collections::VecDeque::from([(keys.as_slice(), 0)]);
        while let Some((mut below, depth)) = open.pop_front() {
            trie.first_child.push(trie.labels.len() as u32);
            let ends_here = below.split_first().filter(|((key, _), _)| key.len() == depth);
            trie.values.push(ends_here.map_or(NO_VALUE, |((_, id), _)| *id));
            if let Some((_, rest)) = ends_here {
                below = rest;
            }
            for group in below.chunk_by(|(a, _), (b, _)| a.get(depth) == b.get(depth)) {
                let label = group.first().and_then(|(key, _)| key.get(depth));
                trie.labels.push(label.copied().unwrap_or_default());
                open.push_back((group, depth + 1));
            }
        }
        trie.first_child.push(trie.labels.len() as u32);
        Ok(trie)
    }

    /// The child of `node` along `byte`.
    #[inline]
    pub fn step(&self, node: u32, byte: u8) -> Option<u32> {
        let node = node as usize;
        let start = *self.first_child.get(node)? as usize;
        let end = *self.first_child.get(node + 1)? as usize;
        let at = self.labels.get(start..end)?.binary_search(&byte).ok()?;
        Some((start + at) as u32)
    }

    /// The id of the key that ends at `node`.
    #[inline]
    pub fn value(&self, node: u32) -> Option<u32> {
        self.values.get(node as usize).copied().filter(|&value| value != NO_VALUE)
    }

    /// The id of `key`.
    pub fn get(&self, key: &[u8]) -> Option<u32> {
        let node = key.iter().try_fold(Self::ROOT, |node, &byte| self.step(node, byte))?;
        self.value(node)
    }

    /// Length of the longest key that `text` starts with.
    pub fn longest_prefix(&self, text: &[u8]) -> Option<usize> {
        self.prefixes(text).last().map(|(length, _)| length)
    }

    /// Length and id of each key that `text` starts with, the shortest first.
    pub fn prefixes(&self, text: &[u8]) -> impl Iterator<Item = (usize, u32)> {
        let mut node = Some(Self::ROOT);
        let steps = (1usize..).zip(text).map_while(move |(length, &byte)| {
            node = self.step(node?, byte);
            node.map(|node| (length, node))
        });
        steps.filter_map(|(length, node)| self.value(node).map(|id| (length, id)))
    }
}
