//! Embeddings: how rows become vectors.

use super::answer::Embedded;
use super::model::{EncodingModel, TooLong, checked};
use crate::error::Result;
use crate::ops::{Ops, Pooling};
use crate::stack::Encoding as Blocks;
use crate::text::json_tokenizer::Encoding;

/// How texts become vectors; where nothing is said, as the model's files say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EmbeddingOptions {
    /// How one vector is made of those of all tokens.
    pub pooling: Option<Pooling>,
    /// Whether vectors are given length 1.
    pub normalize: Option<bool>,
    /// What becomes of texts that are too long.
    pub too_long: TooLong,
    /// Whether the answer has the tokens.
    pub tokens: bool,
}

impl<O: Ops + Clone> EncodingModel<O> {
    /// Adds the vectors of texts that are through all blocks; `encodings` are their tokens.
    pub(super) async fn add_vectors(
        &self,
        ops: &mut O,
        encodings: Vec<Encoding>,
        blocks: Blocks<O>,
        options: EmbeddingOptions,
        to: &mut Embedded,
    ) -> Result<()> {
        let (hidden, rows) = self.encoder.end(ops, blocks);
        let pooling = options.pooling.unwrap_or(self.pipeline.pooling);
        let mut pooled = ops.pool(&hidden, &rows, pooling);
        for dense in &self.pipeline.dense {
            pooled = dense.forward(ops, &pooled);
        }
        let mut vectors = Vec::new();
        ops.read(&pooled, &mut vectors).await?;
        let mut vectors = checked(vectors)?;
        if options.normalize.unwrap_or(self.pipeline.normalize) {
            vectors.chunks_exact_mut(self.pipeline.dimensions.max(1)).for_each(normalize);
        }
        to.vectors.extend(vectors);
        for encoding in encodings {
            to.truncated.push(encoding.truncated);
            if options.tokens {
                to.tokens.push(encoding.pieces);
            }
        }
        Ok(())
    }
}

/// Length 1; what has no length stays as it is.
fn normalize(vector: &mut [f32]) {
    let squares: f64 = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
    // As torch has it.
    let length = libm::sqrt(squares).max(1e-12);
    vector.iter_mut().for_each(|x| *x = (f64::from(*x) / length) as f32);
}
