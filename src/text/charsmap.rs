//! Compiled replacement rules, as models of SentencePiece bring them (`precompiled_charsmap`).

/// Longest replacement of one match. Unicode's own longest has 33 bytes; a bound keeps a damaged
/// table from blowing the text up.
const MAX_REPLACEMENT: usize = 1024;

/// Units of a block of the double array; its size is always a multiple of this.
const BLOCK: usize = 256;

/// Compiled replacement rules: a double-array trie (darts-clone layout) from a sequence of bytes to
/// the offset of its replacement in one NUL-separated string.
pub(crate) struct CharsMap {
    units: Vec<u32>,
    replacements: String,
}

impl CharsMap {
    /// Reads `trie size: u32, trie, replacements` and checks every link, so that no walk leaves the array. The
    /// error is an offset in `bytes` and what is wrong there.
    pub fn read(bytes: &[u8]) -> Result<Self, (usize, String)> {
        let Some((size, rest)) = bytes.split_first_chunk::<4>() else {
            return Err((0, "the normalisation table has no size".to_owned()));
        };
        let size = u32::from_le_bytes(*size) as usize;
        let Some((trie, replacements)) = rest.split_at_checked(size) else {
            let left = rest.len();
            return Err((
                0,
                format!("the normalisation table announces {size} bytes, {left} are left"),
            ));
        };
        if trie.is_empty() || !trie.len().is_multiple_of(4 * BLOCK) {
            return Err((
                0,
                format!("the normalisation trie has {size} bytes, no multiple of {}", 4 * BLOCK),
            ));
        }
        let replacements_at = 4 + size;
        let replacements = std::str::from_utf8(replacements).map_err(|bad| {
            (replacements_at + bad.valid_up_to(), "a replacement is not UTF-8".to_owned())
        })?;
        let units: Vec<u32> = trie
            .chunks_exact(4)
            .map(|unit| unit.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte)))
            .collect();
        let rules = Self { units, replacements: replacements.to_owned() };
        for (index, &unit) in rules.units.iter().enumerate() {
            let valid = match leaf_value(unit) {
                Some(value) => rules.replacement(value).is_some(),
                None => (index ^ offset(unit)) / BLOCK < rules.units.len() / BLOCK,
            };
            if !valid {
                let what = "the normalisation trie points outside its tables";
                return Err((4 + 4 * index, what.to_owned()));
            }
        }
        Ok(rules)
    }

    /// The replacement at `value`: up to the next NUL.
    fn replacement(&self, value: usize) -> Option<&str> {
        let rest = self.replacements.get(value..)?;
        let length = rest.bytes().take(MAX_REPLACEMENT).position(|byte| byte == 0)?;
        rest.get(..length)
    }

    /// The replacement for the longest key that `text` starts with, and the length of that key.
    pub fn longest_match(&self, text: &str) -> Option<(&str, usize)> {
        self.matches(text).last().and_then(|(value, end)| Some((self.replacement(value)?, end)))
    }

    /// The replacement for the shortest key that `text` starts with.
    #[cfg(feature = "encoder")]
    pub fn shortest_match(&self, text: &str) -> Option<&str> {
        self.matches(text).next().and_then(|(value, _)| self.replacement(value))
    }

    /// Value and length of each key that `text` starts with, the shortest first.
    fn matches(&self, text: &str) -> impl Iterator<Item = (usize, usize)> {
        let mut node = self.units.first().map_or(0, |&unit| offset(unit));
        let steps = text.bytes().enumerate().map_while(move |(at, byte)| {
            node ^= usize::from(byte);
            let unit = *self.units.get(node)?;
            if label(unit) != u32::from(byte) {
                return None;
            }
            node ^= offset(unit);
            Some((at + 1, has_leaf(unit).then_some(node)))
        });
        steps.filter_map(|(end, leaf)| {
            // A key that ends inside a character could only come from a damaged table.
            let leaf = leaf.filter(|_| text.is_char_boundary(end))?;
            Some((leaf_value(*self.units.get(leaf)?)?, end))
        })
    }
}

/// Whether the state behind this unit ends a key.
fn has_leaf(unit: u32) -> bool {
    unit >> 8 & 1 == 1
}

/// The value in a leaf, `None` for any other unit.
fn leaf_value(unit: u32) -> Option<usize> {
    (unit >> 31 == 1).then_some((unit & 0x7fff_ffff) as usize)
}

/// The byte on the edge into a unit. In a leaf, bit 31 is set as well, so that no byte equals it.
fn label(unit: u32) -> u32 {
    unit & 0x8000_00ff
}

/// Exclusive-or distance from a unit to its children.
fn offset(unit: u32) -> usize {
    ((unit >> 10) << ((unit & 1 << 9) >> 6)) as usize
}
