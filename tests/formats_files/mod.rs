//! Small Marian and shortlist files, written byte by byte from the description of their formats.

#![allow(dead_code, clippy::unwrap_used)] // each test file uses its part; a failing test may panic

pub mod gguf;

use multihead::{
    error::Result,
    formats::{ByteSource, MemoryFile},
};
use std::{borrow::Cow, ops::Range, sync::Mutex};

/// One tensor as the file has it.
pub struct Tensor {
    pub name: Vec<u8>,
    pub type_code: u64,
    pub shape: Vec<i32>,
    pub data: Vec<u8>,
}

impl Tensor {
    pub fn new(name: &str, type_code: u64, shape: &[i32], data: Vec<u8>) -> Self {
        let name = [name.as_bytes(), b"\0"].concat();
        Self { name, type_code, shape: shape.to_vec(), data }
    }

    pub fn f32(name: &str, shape: &[i32], values: &[f32]) -> Self {
        let data = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self::new(name, 0x404, shape, data)
    }

    pub fn intgemm8(name: &str, shape: &[i32], values: &[i8], multiplier: f32) -> Self {
        let mut data: Vec<u8> = values.iter().map(|value| *value as u8).collect();
        data.extend(multiplier.to_le_bytes());
        Self::new(name, 0x4101, shape, data)
    }

    pub fn config(text: &str) -> Self {
        let data = [text.as_bytes(), b"\0"].concat();
        Self::new("special:model.yml", 0x101, &[data.len() as i32], data)
    }

    /// Pads the data as Marian's allocator does, with bytes that mean nothing.
    pub fn padded(mut self) -> Self {
        self.data.resize(self.data.len().next_multiple_of(256), 0xEE);
        self
    }
}

/// A Marian file of these tensors, its data on a 256-byte boundary.
pub fn marian(tensors: &[Tensor]) -> Vec<u8> {
    let words = |values: &[u64]| values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let mut file: Vec<u8> = words(&[1, tensors.len() as u64]);
    for Tensor { name, type_code, shape, data } in tensors {
        let record = [name.len() as u64, *type_code, shape.len() as u64, data.len() as u64];
        file.extend::<Vec<u8>>(words(&record));
    }
    tensors.iter().for_each(|tensor| file.extend(&tensor.name));
    tensors.iter().flat_map(|tensor| &tensor.shape).for_each(|dim| file.extend(dim.to_le_bytes()));
    let padding = (file.len() + 8).next_multiple_of(256) - (file.len() + 8);
    file.extend((padding as u64).to_le_bytes());
    file.resize(file.len() + padding, 0);
    tensors.iter().for_each(|tensor| file.extend(&tensor.data));
    file
}

/// A shortlist of one list per source id, its checksum by Marian's definition.
pub fn shortlist(first_num: u64, best_num: u64, lists: &[&[u32]]) -> Vec<u8> {
    let size: usize = lists.iter().map(|list| list.len()).sum();
    let mut words = vec![first_num, best_num, lists.len() as u64 + 1, size as u64, 0];
    for list in lists {
        words.push(words.last().unwrap() + list.len() as u64);
    }
    let mut body: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    body.extend(lists.concat().iter().flat_map(|id| id.to_le_bytes()));
    with_checksum(&body)
}

/// Puts magic and checksum in front of everything that follows them.
pub fn with_checksum(body: &[u8]) -> Vec<u8> {
    let mut seed = 0_u64;
    for word in body.chunks_exact(8) {
        let word = u64::from_le_bytes(word.try_into().unwrap());
        let mixed = u128::from(word) + 0x9e37_79b9 + u128::from(seed << 6) + u128::from(seed >> 2);
        seed ^= mixed as u64;
    }
    [&0xF11A_48D5_0134_17F5_u64.to_le_bytes(), &seed.to_le_bytes(), body].concat()
}

/// A file that hands out owned bytes, as a browser does, and remembers what was read.
pub struct LoggedFile {
    file: MemoryFile,
    pub reads: std::sync::Arc<Mutex<Vec<Range<u64>>>>,
}

impl LoggedFile {
    pub fn new(name: &str, bytes: Vec<u8>) -> Self {
        Self { file: MemoryFile::new(name, bytes), reads: Default::default() }
    }
}

impl ByteSource for LoggedFile {
    fn name(&self) -> &str {
        self.file.name()
    }

    fn len(&self) -> u64 {
        self.file.len()
    }

    fn read(&self, range: Range<u64>) -> Result<Cow<'_, [u8]>> {
        self.reads.lock().unwrap().push(range.clone());
        Ok(Cow::Owned(self.file.read(range)?.into_owned()))
    }
}

/// A file that is shorter than it said, as one that changes while it is read.
pub struct ShrinkingFile {
    pub claimed: u64,
    pub file: MemoryFile,
}

impl ByteSource for ShrinkingFile {
    fn name(&self) -> &str {
        self.file.name()
    }

    fn len(&self) -> u64 {
        self.claimed
    }

    fn read(&self, range: Range<u64>) -> Result<Cow<'_, [u8]>> {
        let end = range.end.min(self.file.len());
        self.file.read(range.start.min(end)..end)
    }
}
