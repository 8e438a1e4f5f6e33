//! Beam search over one source (Graves 2012; the rules are Marian's). Greedy decoding is a beam of one.
//!
//! A hypothesis that ends leaves the beam, which stays narrower by one; the search is over when none is left.

use crate::ops::Choice;

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

/// The beam of one source.
pub struct Beam {
    options: BeamOptions,
    end: u32,
    source_len: usize,
    max_len: f32,
    nodes: Vec<Node>,
    attention: Vec<f32>, // [rows, source_len]
    /// Last node of each live hypothesis; one entry of `None` before the first token.
    live: Vec<Option<usize>>,
    width: usize,
    finished: Vec<usize>,
}

impl Beam {
    /// A beam over a source of `source_len` tokens, end token included.
    pub fn new(options: BeamOptions, end: u32, source_len: usize) -> Self {
        Self {
            options,
            end,
            source_len,
            max_len: options.max_length_factor * source_len as f32,
            nodes: Vec::new(),
            attention: Vec::new(),
            live: vec![None],
            width: options.beam_size.max(1),
            finished: Vec::new(),
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

    /// Choices wanted for each of them.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Takes the next token of every hypothesis. `choices[i]` are those of live hypothesis i, best first;
    /// `attention`, `[live, ≥ source_len]` with rows `stride` apart, is empty if it is not kept.
    /// Gives, for each hypothesis that lives on, which live hypothesis it continues.
    pub fn advance(
        &mut self,
        choices: &[Vec<Choice>],
        attention: &[f32],
        stride: usize,
    ) -> Vec<usize> {
        let first_row = self.attention.len() / self.source_len.max(1);
        for row in attention.chunks(stride.max(1)).take(self.live.len()) {
            self.attention.extend(row.iter().take(self.source_len));
        }
        let mut candidates: Vec<(f32, usize, u32)> = Vec::new();
        for (row, choices) in choices.iter().enumerate() {
            let parent =
                self.live.get(row).copied().flatten().and_then(|node| self.nodes.get(node));
            let so_far = parent.map_or(0.0, |parent| parent.path_score);
            candidates
                .extend(choices.iter().map(|choice| (so_far + choice.log_prob, row, choice.id)));
        }
        // A stable sort: equal scores keep the order of hypotheses and choices.
        candidates.sort_by(|a, b| b.0.total_cmp(&a.0));
        candidates.truncate(self.width);
        let mut next = Vec::with_capacity(candidates.len());
        let mut rows = Vec::with_capacity(candidates.len());
        for (path_score, row, token) in candidates {
            let parent = self.live.get(row).copied().flatten();
            let length = parent.and_then(|node| self.nodes.get(node)).map_or(0, |n| n.length) + 1;
            let node = self.nodes.len();
            self.nodes.push(Node { token, parent, path_score, length, attention: first_row + row });
            if token == self.end || length as f32 >= self.max_len {
                self.finished.push(node);
                self.width -= 1;
            } else {
                next.push(Some(node));
                rows.push(row);
            }
        }
        self.live = next;
        rows
    }

    /// The finished hypotheses, best score first.
    pub fn into_hypotheses(self) -> Vec<Hypothesis> {
        let mut hypotheses: Vec<_> =
            self.finished.iter().filter_map(|node| self.hypothesis(*node)).collect();
        hypotheses.sort_by(|a, b| b.score.total_cmp(&a.score));
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

    const END: u32 = 0;

    fn choices(of: &[(u32, f32)]) -> Vec<Choice> {
        of.iter().map(|(id, log_prob)| Choice { id: *id, log_prob: *log_prob }).collect()
    }

    #[test]
    fn the_beam_narrows_as_hypotheses_end() {
        let options = BeamOptions { beam_size: 2, length_penalty: 1.0, ..BeamOptions::default() };
        let mut beam = Beam::new(options, END, 4);
        assert_eq!(beam.tokens().collect::<Vec<_>>(), [None]);
        assert_eq!(beam.advance(&[choices(&[(5, -0.5), (6, -1.0)])], &[], 0), [0, 0]);
        // Continuations: 5·END −0.8, 5·7 −1.5, 6·8 −1.1, 6·END −3.0. The best two: 5·END ends, 6·8 lives.
        let step = [choices(&[(END, -0.3), (7, -1.0)]), choices(&[(8, -0.1), (END, -2.0)])];
        assert_eq!(beam.advance(&step, &[], 0), [1]);
        assert_eq!((beam.live(), beam.width()), (1, 1));
        assert_eq!(beam.advance(&[choices(&[(END, -0.1)])], &[], 0), [0_usize; 0]);
        let hypotheses = beam.into_hypotheses();
        assert_eq!(hypotheses[0].tokens, [5, END]);
        assert!((hypotheses[0].score - -0.4).abs() < 1e-6);
        assert_eq!(hypotheses[1].tokens, [6, 8, END]);
        assert!((hypotheses[1].score - -0.4).abs() < 1e-6);
    }

    #[test]
    fn the_length_limit_ends_every_hypothesis() {
        let options = BeamOptions { max_length_factor: 1.5, ..BeamOptions::default() };
        let mut beam = Beam::new(options, END, 2);
        let mut steps = 0;
        while beam.live() > 0 {
            beam.advance(&[choices(&[(9, -1.0)])], &[], 0);
            steps += 1;
        }
        let best = beam.into_hypotheses().remove(0);
        assert_eq!((steps, best.tokens, best.cut), (3, vec![9, 9, 9], true));
        assert!((best.score - -1.0).abs() < 1e-6);
    }

    #[test]
    fn attention_follows_the_path() {
        let options = BeamOptions {
            beam_size: 2,
            length_penalty: 0.0,
            word_penalty: 0.25,
            ..BeamOptions::default()
        };
        let mut beam = Beam::new(options, END, 2);
        beam.advance(&[choices(&[(5, -0.5), (6, -0.6)])], &[0.75, 0.25, 9.0], 3);
        let attention = [0.5, 0.5, 9.0, 0.1, 0.9, 9.0];
        beam.advance(&[choices(&[(END, -3.0)]), choices(&[(END, -0.1)])], &attention, 3);
        let best = beam.into_hypotheses().remove(0);
        assert_eq!(best.tokens, [6, END]);
        assert_eq!(best.alignment, [0.75, 0.25, 0.1, 0.9]);
        assert!((best.score - (-0.7 - 0.5)).abs() < 1e-6);
    }
}
