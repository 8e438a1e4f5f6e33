//! All pipelines of a translation model, before it is used.

use super::DecodingOptions;
use super::job::{LIST_ROWS, WIDE_BEAM};
use super::translator::Translator;
use crate::backend::gpu::Gpu;
use crate::error::Result;
use crate::generate::Search;
use crate::tasks::REHEARSED_ROWS;
use crate::text::sentencepiece::Piece;

/// Sentences, tokens of each, and hypotheses.
type Shape = (usize, usize, usize);

const PARTS: usize = 4;

impl Translator<Gpu> {
    /// Does the part `part` (from 0 on) of the warm-up; how many are left. After the last no use makes a pipeline.
    ///
    /// # Errors
    /// Whatever the device reports: that weights found no room on it, among others.
    pub async fn warm_up(&self, part: usize) -> Result<usize> {
        let usual = DecodingOptions::default().beam_size;
        let shapes: Vec<Shape> = match part {
            0 => REHEARSED_ROWS.iter().map(|tokens| (1, *tokens, usual)).collect(),
            1 => [2, 3, 5, 9, LIST_ROWS].map(|sentences| (sentences, 9, 1)).to_vec(),
            2 => [1, 2, 3].map(|sentences| (sentences, 4, WIDE_BEAM)).to_vec(),
            _ => Vec::new(),
        };
        for shape in shapes {
            self.ops.rehearse(self.search_few_steps(shape))?;
        }
        match part {
            3 => self.search_few_steps((1, 3, usual)).await?,
            _ => self.ops.caught_up().await?,
        }
        Ok(PARTS.saturating_sub(part + 1))
    }

    async fn search_few_steps(&self, (sentences, tokens, beam_size): Shape) -> Result<()> {
        let mut ops = self.ops.clone();
        let options = DecodingOptions { beam_size, ..Default::default() };
        let word = Piece { id: self.source_vocab.unknown_id(), range: 0..0 };
        let input = self.search_input(&vec![word; tokens - 1], None);
        let inputs = vec![input; sentences];
        for with_alignment in [true, false] {
            let mut search = Search::new(&mut ops, &self.model, with_alignment);
            search.add(&mut ops, &self.model, &inputs, options)?;
            for _ in 0..3 {
                if !search.is_done() {
                    search.step(&mut ops, &self.model).await?;
                }
            }
        }
        Ok(())
    }
}
