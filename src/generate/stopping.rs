//! Strings that end a text: found across the borders of tokens, and not shown, nor the beginning of one.

/// Text on its way out, held back while it may be the beginning of a stop string.
#[derive(Debug, Default)]
pub struct StopStrings {
    stops: Vec<String>,
    pending: String,
    found: bool,
}

impl StopStrings {
    /// Looks for `stops`; empty ones count for nothing.
    pub fn new(stops: Vec<String>) -> Self {
        let stops = stops.into_iter().filter(|stop| !stop.is_empty()).collect();
        Self { stops, pending: String::new(), found: false }
    }

    /// Whether a stop string was found; what comes after is not let out.
    pub fn found(&self) -> bool {
        self.found
    }

    /// Adds text; returns what can be let out.
    pub fn push(&mut self, text: &str) -> String {
        if self.found {
            return String::new();
        }
        self.pending.push_str(text);
        let first = self.stops.iter().filter_map(|stop| self.pending.find(stop.as_str())).min();
        if let Some(at) = first {
            self.found = true;
            self.pending.truncate(at);
            return std::mem::take(&mut self.pending);
        }
        let kept = self.stops.iter().map(|stop| overlap(&self.pending, stop)).max().unwrap_or(0);
        let rest = self.pending.split_off(self.pending.len() - kept);
        std::mem::replace(&mut self.pending, rest)
    }

    /// The end of the text: what was held back was no stop string.
    pub fn finish(&mut self) -> String {
        std::mem::take(&mut self.pending)
    }
}

/// Length of the longest end of `text` with which `stop` begins.
fn overlap(text: &str, stop: &str) -> usize {
    let beginnings = stop.char_indices().map(|(at, _)| at).rev();
    beginnings
        .filter(|at| stop.get(..*at).is_some_and(|start| text.ends_with(start)))
        .max()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(stops: &[&str], pieces: &[&str]) -> (Vec<String>, bool) {
        let mut strings = StopStrings::new(stops.iter().map(|&stop| stop.to_owned()).collect());
        let mut out: Vec<String> = pieces.iter().map(|piece| strings.push(piece)).collect();
        let found = strings.found();
        out.push(strings.finish());
        (out, found)
    }

    #[test]
    fn stops_are_found_across_pieces_and_never_shown() {
        let (out, found) = run(&["\n\nUser:"], &["Hi", "!\n", "\nUs", "er: ", "more"]);
        assert_eq!((out.concat().as_str(), found), ("Hi!", true));
        assert_eq!(out[1], "!", "the line break may be the beginning");
        // What only looked like a beginning comes with what follows it.
        let (out, found) = run(&["abc"], &["ab", "ab", "d"]);
        assert_eq!((out, found), (["", "ab", "abd", ""].map(str::to_owned).to_vec(), false));
        // The first of several, in the text and not in the list; characters are never cut.
        let (out, found) = run(&["é!", "c"], &["abé", "!c"]);
        assert_eq!((out.concat().as_str(), found), ("ab", true));
        let (out, found) = run(&["", "xyz"], &["wx", "y"]);
        assert_eq!((out.concat().as_str(), found), ("wxy", false));
    }
}
