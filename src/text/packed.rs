//! How the tables about characters are packed: numbers, and runs of characters with a value each.

/// Little-endian base-128 numbers.
pub struct Numbers(std::slice::Iter<'static, u8>);

impl Numbers {
    /// Those of a table.
    pub fn of(table: &'static [u8]) -> Self {
        Self(table.iter())
    }
}

impl Iterator for Numbers {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let (mut number, mut shift) = (0, 0);
        for &byte in self.0.by_ref() {
            number |= u32::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }
}

/// The value of a character in `runs`: the first character of each run `<< 8 |` its value, ascending.
pub fn value_in(runs: &[u32], code: u32) -> Option<u8> {
    let next = runs.partition_point(|run| run >> 8 <= code);
    next.checked_sub(1).and_then(|last| runs.get(last)).map(|run| (run & 0xff) as u8)
}
