//! Beam search over one source (Graves 2012; the rules are Marian's). Greedy decoding is a beam of one.
//!
//! A hypothesis that ends leaves the beam, which stays narrower by one; the search is over when none is left. Where the
//! target is given (forced decoding), the one hypothesis takes its tokens, whatever they are worth.

use crate::ops::{Choices, Wanted};

/// How hypotheses are followed and compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BeamOptions {
    /// Hypotheses followed at once.
    pub beam_size: usize,
    /// Exponent of the length a path score is divided by: 0 none, 1 the mean of the log-probabilities.
    pub length_penalty: f32,
    /// Taken off the path score for each token.
    pub word_penalty: f32,
    /// Most target tokens, end token included, for each source token, end token included.
    pub max_length_factor: f32,
}

impl Default for BeamOptions {
    fn default() -> Self {
        Self { beam_size: 1, length_penalty: 1.0, word_penalty: 0.0, max_length_factor: 2.0 }
    }
}

/// A finished translation of one source.
#[derive(Debug, Clone, PartialEq)]
pub struct Hypothesis {
    /// Target tokens; the end token is the last unless the length limit came first.
    pub tokens: Vec<u32>,
    /// (sum of log-probabilities − word_penalty · length) / length^length_penalty.
    pub score: f32,
    /// Attention of the alignment head, `[tokens, source_len]`; empty if it was not asked for.
    pub alignment: Vec<f32>,
    /// Whether the length limit ended it.
    pub cut: bool,
}

/// One step of one hypothesis; the first steps have no parent.
struct Node {
    token: u32,
    parent: Option<usize>,
    path_score: f32,
    length: usize,
    /// Index of the row of attention that chose the token.
    attention: usize,
}

/// A hypothesis that may be followed: a live one and one of its choices.
struct Candidate {
    path_score: f32,
    /// Number of the live hypothesis.
    row: usize,
    token: u32,
    parent: Option<usize>,
}

/// Target tokens for each source token that a beam has room for from the start, which few translations come to.
const ROOMY_LENGTH_FACTOR: f32 = 2.0;

/// The beam of one source. Its room is made when it is set up, not while it moves on.
pub struct Beam {
    options: BeamOptions,
    end: u32,
    source_len: usize,
    max_len: f32,
    nodes: Vec<Node>,
    attention: Vec<f32>, // [rows, source_len]
    /// Last node of each live hypothesis; one entry of `None` before the first token.
    live: Vec<Option<usize>>,
    /// For each live hypothesis, which one of the step before it continues.
    continued: Vec<usize>,
    width: usize,
    /// The tokens of the only hypothesis, if they are given.
    given: Option<Vec<u32>>,
    finished: Vec<usize>,
    /// The best of the last step, kept for the room that they take.
    candidates: Vec<Candidate>,
}

impl Beam {
    /// A beam over a source of `source_len` tokens, end token included.
    pub fn new(options: BeamOptions, end: u32, source_len: usize, with_alignment: bool) -> Self {
        let factor = options.max_length_factor.min(ROOMY_LENGTH_FACTOR);
        let steps = libm::ceilf(factor * source_len as f32) as usize;
        Self::with_room(
            options,
            end,
            source_len,
            if with_alignment { source_len } else { 0 },
            steps,
        )
    }

    /// The one hypothesis of `tokens`, the end token last.
    pub fn of_given(
        tokens: Vec<u32>,
        options: BeamOptions,
        end: u32,
        source_len: usize,
        with_alignment: bool,
    ) -> Self {
        let options = BeamOptions { beam_size: 1, ..options };
        let columns = if with_alignment { source_len } else { 0 };
        let beam = Self::with_room(options, end, source_len, columns, tokens.len());
        Self { max_len: tokens.len() as f32, given: Some(tokens), ..beam }
    }

    /// With room for `steps` steps, whose attention is kept in so many columns.
    fn with_room(
        options: BeamOptions,
        end: u32,
        source_len: usize,
        columns: usize,
        steps: usize,
    ) -> Self {
        let width = options.beam_size.max(1);
        let rows = width * steps;
        let mut live = Vec::with_capacity(width);
        live.push(None);
        Self {
            options,
            end,
            source_len,
            max_len: options.max_length_factor * source_len as f32,
            nodes: Vec::with_capacity(rows),
            attention: Vec::with_capacity(rows * columns),
            live,
            continued: Vec::with_capacity(width),
            width,
            given: None,
            finished: Vec::with_capacity(width),
            candidates: Vec::with_capacity(width + 1),
        }
    }

    /// The last token of each live hypothesis: the decoder's next input.
    pub fn tokens(&self) -> impl Iterator<Item = Option<u32>> + '_ {
        self.live.iter().map(|node| node.and_then(|node| self.nodes.get(node)).map(|n| n.token))
    }

    /// Live hypotheses.
    pub fn live(&self) -> usize {
        self.live.len()
    }

    /// Whether it follows the one likeliest token, which no target gives.
    pub fn is_greedy(&self) -> bool {
        self.width == 1 && self.given.is_none() && self.live.len() == 1
    }

    /// Tokens a beam of one may still take.
    pub fn left(&self) -> usize {
        let left = libm::ceilf(self.max_len) as usize;
        left.saturating_sub(self.nodes.len()).max(1)
    }

    /// Choices wanted of each of them.
    pub fn wanted(&self) -> Wanted {
        match &self.given {
            // One hypothesis has as many nodes as it has tokens.
            Some(given) => {
                given.get(self.nodes.len()).map_or(Wanted::Likeliest(0), |id| Wanted::Given(*id))
            }
            None => Wanted::Likeliest(self.width),
        }
    }

    /// Takes the next token of every hypothesis. Those of live hypothesis i are the row `first_row` + i of `choices`;
    /// `attention`, `[live, ≥ source_len]` with rows `stride` apart, is empty if it is not kept.
    /// Gives, for each hypothesis that lives on, which live hypothesis it continues.
    pub fn advance(
        &mut self,
        choices: &Choices,
        first_row: usize,
        attention: &[f32],
        stride: usize,
    ) -> &[usize] {
        let first_attention = self.attention.len() / self.source_len.max(1);
        for row in attention.chunks(stride.max(1)).take(self.live.len()) {
            self.attention.extend(row.iter().take(self.source_len));
        }
        self.candidates.clear();
        for (row, &parent) in self.live.iter().enumerate() {
            let last = parent.and_then(|node| self.nodes.get(node));
            let so_far = last.map_or(0.0, |last| last.path_score);
            for choice in choices.row(first_row + row) {
                let path_score = so_far + choice.log_prob;
                // Equal scores keep the order of hypotheses and choices.
                let better = |other: &Candidate| other.path_score.total_cmp(&path_score).is_ge();
                let place = self.candidates.partition_point(better);
                self.candidates
                    .insert(place, Candidate { path_score, row, token: choice.id, parent });
                self.candidates.truncate(self.width);
            }
        }
        self.live.clear();
        self.continued.clear();
        for &Candidate { path_score, row, token, parent, .. } in &self.candidates {
            let length = parent.and_then(|node| self.nodes.get(node)).map_or(0, |n| n.length) + 1;
            let node = self.nodes.len();
            let attention = first_attention + row;
            self.nodes.push(Node { token, parent, path_score, length, attention });
            if token == self.end || length as f32 >= self.max_len {
                self.finished.push(node);
                self.width -= 1;
            } else {
                self.live.push(Some(node));
                self.continued.push(row);
            }
        }
        &self.continued
    }

    /// The finished hypotheses, best score first.
    pub fn into_hypotheses(self) -> Vec<Hypothesis> {
        let mut hypotheses: Vec<Hypothesis> = Vec::with_capacity(self.finished.len());
        for hypothesis in self.finished.iter().filter_map(|node| self.hypothesis(*node)) {
            let better = |other: &Hypothesis| other.score.total_cmp(&hypothesis.score).is_ge();
            hypotheses.insert(hypotheses.partition_point(better), hypothesis);
        }
        hypotheses
    }

    fn hypothesis(&self, last: usize) -> Option<Hypothesis> {
        let node = self.nodes.get(last)?;
        let mut path = Vec::with_capacity(node.length);
        let mut step = Some(node);
        while let Some(node) = step {
            path.push(node);
            step = node.parent.and_then(|parent| self.nodes.get(parent));
        }
        path.reverse();
        let row = |node: &&Node| {
            let start = node.attention * self.source_len;
            self.attention.get(start..start + self.source_len).unwrap_or_default()
        };
        let length = node.length as f32;
        let penalised = node.path_score - self.options.word_penalty * length;
        Some(Hypothesis {
            tokens: path.iter().map(|node| node.token).collect(),
            score: penalised / libm::powf(length, self.options.length_penalty),
            alignment: path.iter().flat_map(row).copied().collect(),
            cut: node.token != self.end,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Choice;

    const END: u32 = 0;

    /// The choices of each row: ids and log-probabilities.
    fn choices(rows: &[&[(u32, f32)]]) -> Choices {
        let mut choices = Choices::default();
        for row in rows {
            choices.push_row(row.iter().map(|&(id, log_prob)| Choice { id, log_prob }));
        }
        choices
    }

    #[test]
    fn the_beam_narrows_as_hypotheses_end() {
        let options = BeamOptions { beam_size: 2, length_penalty: 1.0, ..BeamOptions::default() };
        let mut beam = Beam::new(options, END, 4, false);
        assert_eq!(beam.tokens().collect::<Vec<_>>(), [None]);
        // The row before is another source's.
        let step = choices(&[&[(9, -0.1)], &[(5, -0.5), (6, -1.0)]]);
        assert_eq!(beam.advance(&step, 1, &[], 0), [0, 0]);
        // Continuations: 5·END −0.8, 5·7 −1.5, 6·8 −1.1, 6·END −3.0. The best two: 5·END ends, 6·8 lives.
        let step = choices(&[&[(END, -0.3), (7, -1.0)], &[(8, -0.1), (END, -2.0)]]);
        assert_eq!(beam.advance(&step, 0, &[], 0), [1]);
        assert_eq!((beam.live(), beam.wanted()), (1, Wanted::Likeliest(1)));
        assert_eq!(beam.advance(&choices(&[&[(END, -0.1)]]), 0, &[], 0), [0_usize; 0]);
        let hypotheses = beam.into_hypotheses();
        assert_eq!(hypotheses[0].tokens, [5, END]);
        assert!((hypotheses[0].score - -0.4).abs() < 1e-6);
        assert_eq!(hypotheses[1].tokens, [6, 8, END]);
        assert!((hypotheses[1].score - -0.4).abs() < 1e-6);
    }

    #[test]
    fn equal_scores_keep_their_order() {
        let options = BeamOptions { beam_size: 3, ..BeamOptions::default() };
        let mut beam = Beam::new(options, END, 9, false);
        beam.advance(&choices(&[&[(5, -1.0), (6, -1.0), (7, -1.0)]]), 0, &[], 0);
        let tokens = |beam: &Beam| beam.tokens().flatten().collect::<Vec<_>>();
        assert_eq!(tokens(&beam), [5, 6, 7]);
        let row: &[_] = &[(8, -0.5), (9, -0.5), (10, -0.5)];
        assert_eq!(beam.advance(&choices(&[row, row, row]), 0, &[], 0), [0, 0, 0]);
        assert_eq!(tokens(&beam), [8, 9, 10]);
    }

    #[test]
    fn the_length_limit_ends_every_hypothesis() {
        let options = BeamOptions { max_length_factor: 1.5, ..BeamOptions::default() };
        let mut beam = Beam::new(options, END, 2, false);
        let mut steps = 0;
        while beam.live() > 0 {
            beam.advance(&choices(&[&[(9, -1.0)]]), 0, &[], 0);
            steps += 1;
        }
        let best = beam.into_hypotheses().remove(0);
        assert_eq!((steps, best.tokens, best.cut), (3, vec![9, 9, 9], true));
        assert!((best.score - -1.0).abs() < 1e-6);
    }

    #[test]
    fn a_given_target_is_gone_through() {
        // As long as it is: the limit is for translations. Were it shorter, END in the middle would end it.
        let options =
            BeamOptions { beam_size: 4, max_length_factor: 0.1, ..BeamOptions::default() };
        let mut beam = Beam::of_given(vec![7, 7, END], options, END, 1, true);
        for (id, log_prob, live) in [(7, -2.0, 1), (7, -0.5, 1), (END, -0.2, 0)] {
            assert_eq!(beam.wanted(), Wanted::Given(id));
            beam.advance(&choices(&[&[(id, log_prob)]]), 0, &[1.0], 1);
            assert_eq!(beam.live(), live);
        }
        let hypotheses = beam.into_hypotheses();
        assert_eq!((hypotheses.len(), hypotheses[0].cut), (1, false));
        assert_eq!(
            (&hypotheses[0].tokens[..], hypotheses[0].alignment.len()),
            (&[7, 7, END][..], 3)
        );
        assert!((hypotheses[0].score - -0.9).abs() < 1e-6);
    }

    #[test]
    fn attention_follows_the_path() {
        let options = BeamOptions {
            beam_size: 2,
            length_penalty: 0.0,
            word_penalty: 0.25,
            ..BeamOptions::default()
        };
        let mut beam = Beam::new(options, END, 2, true);
        beam.advance(&choices(&[&[(5, -0.5), (6, -0.6)]]), 0, &[0.75, 0.25, 9.0], 3);
        let attention = [0.5, 0.5, 9.0, 0.1, 0.9, 9.0];
        beam.advance(&choices(&[&[(END, -3.0)], &[(END, -0.1)]]), 0, &attention, 3);
        let best = beam.into_hypotheses().remove(0);
        assert_eq!(best.tokens, [6, END]);
        assert_eq!(best.alignment, [0.75, 0.25, 0.1, 0.9]);
        assert!((best.score - (-0.7 - 0.5)).abs() < 1e-6);
    }
}
