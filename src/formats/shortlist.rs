//! Lexical shortlist `.bin` (binary form, `shortlist.cpp` of Marian): which target ids are worth
//! scoring for a sentence.
//!
//! Layout, little-endian: u64 magic, checksum, first_num, best_num, offset_count, list_size; then
//! offset_count u64 offsets (one per source id, and the end); then list_size u32 target ids,
//! ascending within each source id's list.

use super::{ByteSource, u64_at};
use crate::error::{Error, Result};

const MAGIC: u64 = 0xF11A_48D5_0134_17F5;
const HEADER_BYTES: u64 = 48;
/// Bytes per read: whole words, small beside the 4 to 10 MB of a real file.
const CHUNK_BYTES: u64 = 1 << 16;

/// Target ids, in half the memory where all of them fit in 16 bits.
enum Ids {
    Narrow(Vec<u16>),
    Wide(Vec<u32>),
}

/// An open shortlist: for each source id the target ids seen aligned with it in training.
pub struct Shortlist {
    first_num: u64,
    best_num: u64,
    /// `[source_len + 1]` positions in `ids`, ascending, from 0 to `ids.len()`.
    offsets: Vec<u32>,
    ids: Ids,
    max_target_id: Option<u32>,
}

impl Shortlist {
    /// Reads and checks the whole file, some 64 KiB at a time.
    ///
    /// # Errors
    /// [`Error::Format`] where the magic, the length, the order of offsets or ids, or the
    /// checksum is wrong.
    pub fn open(source: &dyn ByteSource) -> Result<Self> {
        let file = source.name();
        let header = Header::read(source)?;
        let mut checksum = Checksum::default();
        checksum.add(&header.summed);

        // the header's counts fill the file exactly, so no reservation can exceed its length
        let mut offsets: Vec<u32> = reserved(file, header.offset_count)?;
        let offsets_end = HEADER_BYTES + 8 * header.offset_count;
        for_each_chunk(source, HEADER_BYTES..offsets_end, |at, bytes| {
            checksum.add(bytes);
            for (index, offset) in bytes.as_chunks::<8>().0.iter().enumerate() {
                let offset = u64::from_le_bytes(*offset);
                let low = offsets.last().map_or(0, |last| u64::from(*last));
                let high = if offsets.is_empty() { 0 } else { header.list_size };
                match u32::try_from(offset) {
                    Ok(fits) if (low..=high).contains(&offset) => offsets.push(fits),
                    _ => {
                        return Err(Error::format(
                            file,
                            at + 8 * index as u64,
                            format!("offset {offset} found, expected {low} to {high}"),
                        ));
                    }
                }
            }
            Ok(())
        })?;
        let last = offsets.last().copied().unwrap_or_default();
        if u64::from(last) != header.list_size {
            return Err(Error::format(
                file,
                offsets_end - 8,
                format!("last offset {last} found, expected {}", header.list_size),
            ));
        }

        let mut lists = ListReader::new(&offsets, reserved(file, header.list_size)?);
        for_each_chunk(source, offsets_end..source.len(), |at, bytes| {
            checksum.add(bytes);
            for (index, id) in bytes.as_chunks::<4>().0.iter().enumerate() {
                let id = u32::from_le_bytes(*id);
                lists.push(id).map_err(|what| Error::format(file, at + 4 * index as u64, what))?;
            }
            Ok(())
        })?;
        let ListReader { ids, max, .. } = lists;
        if checksum.0 != header.checksum {
            return Err(Error::format(
                file,
                8,
                format!(
                    "checksum of the contents is {:#018x}, header says {:#018x}",
                    checksum.0, header.checksum
                ),
            ));
        }
        Ok(Self {
            first_num: header.first_num,
            best_num: header.best_num,
            offsets,
            ids,
            max_target_id: max,
        })
    }

    /// Number of source ids the file has a list for: as a rule the size of the source vocabulary.
    pub fn source_len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// The highest target id in any list; `None` where all lists are empty.
    pub fn max_target_id(&self) -> Option<u32> {
        self.max_target_id
    }

    /// How many of the most frequent target ids (0, 1, …) are candidates of every sentence.
    pub fn first_num(&self) -> u64 {
        self.first_num
    }

    /// How many target ids the writer kept per source id at most.
    pub fn best_num(&self) -> u64 {
        self.best_num
    }

    /// Target ids listed for a source id, ascending; none where the file has no list for it.
    pub fn list(&self, source_id: u32) -> impl Iterator<Item = u32> {
        let at = source_id as usize;
        let range = match self.offsets.get(at..).unwrap_or_default() {
            [start, end, ..] => *start as usize..*end as usize,
            _ => 0..0,
        };
        let (narrow, wide) = match &self.ids {
            Ids::Narrow(ids) => (ids.get(range).unwrap_or_default(), Default::default()),
            Ids::Wide(ids) => (Default::default(), ids.get(range).unwrap_or_default()),
        };
        narrow.iter().map(|id| u32::from(*id)).chain(wide.iter().copied())
    }

    /// Candidates of a sentence: the `first_num` most frequent target ids and the lists of its
    /// source ids, ascending, each once, all below `target_vocab`.
    pub fn candidates(&self, source_ids: &[u32], target_vocab: usize) -> Vec<u32> {
        let mut chosen = IdSet::new(target_vocab);
        chosen.insert_lists(self, source_ids);
        chosen.into_sorted()
    }

    /// As [`Shortlist::candidates`], and the source ids themselves: with a vocabulary that both
    /// sides share, a piece can then be copied, which is what Bergamot does.
    pub fn candidates_with_source(&self, source_ids: &[u32], target_vocab: usize) -> Vec<u32> {
        let mut chosen = IdSet::new(target_vocab);
        chosen.insert_lists(self, source_ids);
        source_ids.iter().for_each(|id| chosen.insert(*id));
        chosen.into_sorted()
    }
}

/// The header, its counts checked against the length of the file.
struct Header {
    checksum: u64,
    first_num: u64,
    best_num: u64,
    offset_count: u64,
    list_size: u64,
    /// The four fields that the checksum covers.
    summed: [u8; 32],
}

impl Header {
    fn read(source: &dyn ByteSource) -> Result<Self> {
        let file = source.name();
        let short = || {
            let what = format!("{} bytes found, a shortlist has at least 56", source.len());
            Error::format(file, 0, what)
        };
        if source.len() < HEADER_BYTES {
            return Err(short());
        }
        let bytes = source.read(0..HEADER_BYTES)?;
        let field = |at: usize| u64_at(&bytes, at).ok_or_else(short);
        let magic = field(0)?;
        if magic != MAGIC {
            return Err(Error::format(
                file,
                0,
                format!("magic {magic:#018x} found, expected {MAGIC:#018x} (binary shortlist)"),
            ));
        }
        let header = Self {
            checksum: field(8)?,
            first_num: field(16)?,
            best_num: field(24)?,
            offset_count: field(32)?,
            list_size: field(40)?,
            summed: *bytes.last_chunk().ok_or_else(short)?,
        };
        let expected = || {
            let offsets = header.offset_count.checked_mul(8)?;
            let lists = header.list_size.checked_mul(4)?;
            HEADER_BYTES.checked_add(offsets)?.checked_add(lists)
        };
        if header.offset_count == 0 || expected() != Some(source.len()) {
            return Err(Error::format(
                file,
                32,
                format!(
                    "{} offsets and {} target ids announced, which does not fit a file of {} bytes",
                    header.offset_count,
                    header.list_size,
                    source.len()
                ),
            ));
        }
        if header.list_size > u64::from(u32::MAX) {
            return Err(Error::Unsupported {
                file: file.to_owned(),
                what: format!("{} target ids; at most 2^32 - 1 are read", header.list_size),
            });
        }
        Ok(header)
    }
}

/// Marian's `hashMem` over the u64 words that follow the checksum field (a last half word is not
/// covered): seed ^= word + 0x9e3779b9 + (seed << 6) + (seed >> 2).
#[derive(Default)]
struct Checksum(u64);

impl Checksum {
    fn add(&mut self, bytes: &[u8]) {
        for word in bytes.as_chunks::<8>().0 {
            let seed = self.0;
            self.0 ^= u64::from_le_bytes(*word)
                .wrapping_add(0x9e37_79b9)
                .wrapping_add(seed << 6)
                .wrapping_add(seed >> 2);
        }
    }
}

/// Collects the ids and checks that each list ascends.
struct ListReader<'a> {
    /// Ends of the lists not complete yet.
    ends: std::slice::Iter<'a, u32>,
    /// Position where the current list ends.
    end: usize,
    previous: Option<u32>,
    len: usize,
    ids: Ids,
    max: Option<u32>,
}

impl<'a> ListReader<'a> {
    fn new(offsets: &'a [u32], ids: Vec<u16>) -> Self {
        let ids = Ids::Narrow(ids);
        Self { ends: offsets.iter(), end: 0, previous: None, len: 0, ids, max: None }
    }

    fn push(&mut self, id: u32) -> std::result::Result<(), String> {
        while self.end == self.len {
            let next = self.ends.next().ok_or("target id found behind the last list")?;
            self.end = *next as usize;
            self.previous = None;
        }
        if let Some(previous) = self.previous.filter(|previous| *previous >= id) {
            return Err(format!("target id {id} after {previous}, expected ascending ids"));
        }
        self.previous = Some(id);
        self.max = self.max.max(Some(id));
        self.len += 1;
        match (&mut self.ids, u16::try_from(id)) {
            (Ids::Narrow(ids), Ok(id)) => ids.push(id),
            (Ids::Narrow(ids), Err(_)) => {
                let mut wide = Vec::with_capacity(ids.capacity());
                wide.extend(ids.iter().map(|id| u32::from(*id)));
                wide.push(id);
                self.ids = Ids::Wide(wide);
            }
            (Ids::Wide(ids), _) => ids.push(id),
        }
        Ok(())
    }
}

/// An empty vector with room for `count` values.
fn reserved<T>(file: &str, count: u64) -> Result<Vec<T>> {
    let mut values = Vec::new();
    usize::try_from(count).ok().and_then(|count| values.try_reserve_exact(count).ok()).ok_or_else(
        || Error::OutOfMemory {
            what: format!("shortlist {file}"),
            bytes: count.saturating_mul(size_of::<T>() as u64),
        },
    )?;
    Ok(values)
}

/// A set of ids below a limit, one bit each.
struct IdSet {
    limit: usize,
    words: Vec<u64>,
}

impl IdSet {
    fn new(limit: usize) -> Self {
        Self { limit, words: vec![0; limit.div_ceil(64)] }
    }

    fn insert(&mut self, id: u32) {
        let id = id as usize;
        if id < self.limit
            && let Some(word) = self.words.get_mut(id / 64)
        {
            *word |= 1 << (id % 64);
        }
    }

    fn insert_lists(&mut self, shortlist: &Shortlist, source_ids: &[u32]) {
        let first = shortlist.first_num.min(self.limit as u64) as u32;
        (0..first).for_each(|id| self.insert(id));
        for source_id in source_ids {
            shortlist.list(*source_id).for_each(|id| self.insert(id));
        }
    }

    fn into_sorted(self) -> Vec<u32> {
        let count = self.words.iter().map(|word| word.count_ones() as usize).sum();
        let mut ids = Vec::with_capacity(count);
        for (index, mut word) in (0_u32..).zip(self.words) {
            while word != 0 {
                ids.push(64 * index + word.trailing_zeros());
                word &= word - 1;
            }
        }
        ids
    }
}

/// Calls `visit` with the offset and bytes of each piece of `range`, in order.
fn for_each_chunk(
    source: &dyn ByteSource,
    range: std::ops::Range<u64>,
    mut visit: impl FnMut(u64, &[u8]) -> Result<()>,
) -> Result<()> {
    let mut at = range.start;
    while at < range.end {
        let end = range.end.min(at + CHUNK_BYTES);
        let bytes = source.read(at..end)?;
        if bytes.len() as u64 != end - at {
            let what = format!("{} bytes read of {}", bytes.len(), end - at);
            return Err(Error::format(source.name(), at, what));
        }
        visit(at, &bytes)?;
        at = end;
    }
    Ok(())
}
