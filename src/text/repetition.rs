//! Loops: a model that writes the same words again and again, told from text that repeats for a reason.

/// Longest period, in tokens or words, that is looked for.
const MAX_PERIOD: usize = 24;

/// A stretch in which the same items come back at once, over and over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Index of the first item.
    pub start: usize,
    /// Items in one round.
    pub period: usize,
    /// Full rounds, two or more.
    pub count: usize,
}

impl Run {
    /// Items beyond the first round.
    pub fn surplus(&self) -> usize {
        self.period * (self.count - 1)
    }
}

/// The run with the largest surplus, of equal ones that of the shortest period and then the first.
pub fn longest_run<T: PartialEq>(items: &[T]) -> Option<Run> {
    let mut longest: Option<Run> = None;
    for period in 1..=MAX_PERIOD.min(items.len() / 2) {
        let shifted = items.get(period..).unwrap_or_default();
        let mut same = 0;
        for (at, (a, b)) in items.iter().zip(shifted).enumerate() {
            same = if a == b { same + 1 } else { 0 };
            if same >= period {
                let run = Run { start: at + 1 - same, period, count: same / period + 1 };
                if longest.is_none_or(|best| run.surplus() > best.surplus()) {
                    longest = Some(run);
                }
            }
        }
    }
    longest
}

/// Whether token ids hold a loop: one id six times over, a pair four times, more three times.
///
/// Cheap enough to ask after every token. Text may repeat for a reason, so ask [`loops_beyond`] before
/// a translation is thrown away.
pub fn loops(ids: &[u32]) -> bool {
    longest_run(ids).is_some_and(|run| run.count >= least_count(run.period))
}

/// Rounds from which a run is taken for a loop.
fn least_count(period: usize) -> usize {
    match period {
        1 => 6,
        2 => 4,
        _ => 3,
    }
}

/// Whether `target` repeats words in a way that `source` does not: a word or phrase doubled where the
/// source doubles none, or many more rounds than the source has.
///
/// Words are compared without regard to case and punctuation. Text without spaces between words is
/// compared letter by letter, with the thresholds of [`loops`].
pub fn loops_beyond(source: &str, target: &str) -> bool {
    let (source_words, target_words) = (words(source), words(target));
    let rounds = |run: Option<Run>| run.map_or(1, |run| run.count);
    if let Some(run) = longest_run(&target_words) {
        let allowed = rounds(longest_run(&source_words));
        // "que que" occurs in good sentences; longer words and phrases are doubled only where the source is.
        let small = target_words.get(run.start).is_some_and(|word| word.chars().count() < 4);
        let usual = run.period == 1 && run.count == 2 && small && target_words.len() > 4;
        let doubtful = !usual;
        if doubtful && run.count > allowed {
            return true;
        }
    }
    let letters =
        |text: &str| -> Vec<char> { text.chars().filter(|c| c.is_alphanumeric()).collect() };
    let run = longest_run(&letters(target));
    run.is_some_and(|run| {
        let allowed = rounds(longest_run(&letters(source)));
        // Letters come in threes and fours in plain words and numbers ("1000000").
        run.count >= 2 * least_count(run.period) && run.count > 2 * allowed
    })
}

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}
