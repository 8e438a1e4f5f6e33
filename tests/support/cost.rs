//! What reading a file costs: its time and its memory.

use std::time::{Duration, Instant};

/// Longest that reading a file of the tests may take.
pub const SECOND: Duration = Duration::from_secs(1);

/// What reading a file gave, and cost.
pub struct Read<T> {
    pub outcome: T,
    pub time: Duration,
    /// Bytes that it held at most at a time, beside the file's own.
    pub memory: u64,
}

/// Reads `file` and measures it. The clock counts what else the machine does as well, so what took more than a second
/// is read again: what is slow by itself is slow each time.
pub fn measured<F, T>(file: impl Fn() -> F, read: impl Fn(F) -> T) -> Read<T> {
    let mut tries = 0;
    loop {
        let (given, mut outcome) = (file(), None);
        let start = Instant::now();
        let memory = allocation_counter::measure(|| outcome = Some(read(given))).bytes_max;
        let time = start.elapsed();
        tries += 1;
        if let Some(outcome) = outcome
            && (time < SECOND || tries == 5)
        {
            return Read { outcome, time, memory };
        }
    }
}
