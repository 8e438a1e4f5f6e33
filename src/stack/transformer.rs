//! A stack of blocks behind its embeddings: the same for encoders and decoders.

use super::block::{Block, BlockInput};
use super::embeddings::PositionTable;
use super::encoded::SourceRows;
use super::kv_cache::DecoderState;
#[cfg(feature = "recurrent")]
use super::kv_cache::LayerState;
use super::load::Loader;
use super::relative::RelativeTable;
use super::watch::Watch;
use crate::error::{Error, Result};
use crate::model::{StackConfig, StackSpec};
use crate::ops::{AttentionSegment, CacheKind, Ops, Residual};
use std::{cell::RefCell, ops::Range, rc::Rc};

/// Embeddings, blocks, last normalisation.
pub struct Transformer<O: Ops> {
    embedding: Rc<O::Table>,
    embedding_scale: f32,
    embedding_norm: Option<O::Norm>,
    positions: RefCell<PositionTable>,
    relative: Option<RelativeTable>,
    blocks: Vec<Block<O>>,
    final_residual: bool,
    final_norm: Option<O::Norm>,
    /// Columns of the widest tensor of a block.
    widest: usize,
}

/// Sequences on their way through the blocks of an encoder, one under the other: a caller has its turn between blocks.
pub struct Encoding<O: Ops> {
    x: O::Tensor,
    bottom: Option<O::Tensor>,
    relative: Option<O::Tensor>,
    /// Of each sequence.
    rows: Vec<Range<usize>>,
    segments: Vec<AttentionSegment>,
    positions: Vec<usize>,
    /// Of each block whose mixer remembers what it has read, a row a sequence.
    #[cfg(feature = "recurrent")]
    pub(super) states: Vec<Option<LayerState<O>>>,
    next_block: usize,
}

/// Tokens of a step, those of a row one under the other.
#[derive(Clone, Copy)]
pub enum StepTokens<'a, O: Ops> {
    /// Known ones; `None` starts a sequence.
    Known(&'a [Option<u32>]),
    /// The best choices of the last so many rows, which the device has.
    Chosen(&'a O::Chosen, usize),
}

impl<O: Ops> StepTokens<'_, O> {
    fn len(&self) -> usize {
        match self {
            Self::Known(tokens) => tokens.len(),
            Self::Chosen(_, rows) => *rows,
        }
    }
}

/// What a decoder looks at besides its tokens.
pub struct DecoderInput<'a, O: Ops> {
    /// Its memory.
    pub state: &'a mut DecoderState<O>,
    /// Keys and values of each encoded batch, for each block.
    pub cross: &'a [Vec<O::Tensor>],
    /// For each row, its source's rows in `cross`.
    pub sources: &'a [SourceRows],
    /// The attention weights that are wanted.
    pub watch: Option<Watch<'a, O>>,
}

impl<O: Ops> Transformer<O> {
    /// Loads the blocks; `embedding` may be shared with another stack.
    pub fn load(load: &Loader<'_, O>, spec: &StackSpec, embedding: Rc<O::Table>) -> Result<Self> {
        let config = &spec.config;
        let norm = |spec: &Option<_>| {
            let spec = spec.as_ref();
            spec.map(|spec| load.norm(spec, config.hidden_size, config)).transpose()
        };
        Ok(Self {
            embedding,
            embedding_scale: config.embedding_scale,
            embedding_norm: norm(&spec.embedding_norm)?,
            positions: RefCell::new(PositionTable::load(load, config)?),
            relative: spec
                .relative
                .as_ref()
                .map(|relative| RelativeTable::load(load, relative, config.num_heads))
                .transpose()?,
            blocks: spec
                .blocks
                .iter()
                .map(|block| Block::load(load, block, config))
                .collect::<Result<_>>()?,
            final_residual: spec.final_residual,
            final_norm: norm(&spec.final_norm)?,
            widest: widest(spec),
        })
    }

    /// Memory of `rows` sequences of which nothing was seen.
    pub fn empty_state(&self, ops: &mut O, kind: CacheKind, rows: usize) -> DecoderState<O> {
        DecoderState {
            layers: self.blocks.iter().map(|block| block.empty_state(ops, kind, rows)).collect(),
            past_len: vec![0; rows],
            segments: Default::default(),
            positions: Vec::new(),
        }
    }

    /// Cross-attention's keys and values, one tensor a block, once for an encoder's output. Of a block without,
    /// an empty one.
    pub fn project_cross(&self, ops: &mut O, encoder_output: &O::Tensor) -> Result<Vec<O::Tensor>> {
        let mut cross = Vec::with_capacity(self.blocks.len());
        for block in &self.blocks {
            let kv = block.project_cross(ops, encoder_output)?;
            cross.push(kv.unwrap_or_else(|| ops.zeros(0, 0)));
        }
        Ok(cross)
    }

    /// `[layers, heads]` of self-attention and of cross-attention; zeros where there is none.
    pub fn attention(&self) -> [[usize; 2]; 2] {
        // Of a recurrent decoder the last block alone looks at the source.
        let heads = self.blocks.last().map_or([0; 2], Block::heads);
        heads.map(|heads| [self.blocks.len(), heads])
    }

    /// Number of blocks.
    pub fn num_layers(&self) -> usize {
        self.blocks.len()
    }

    /// Begins to encode complete sequences.
    pub fn begin(&self, ops: &mut O, sequences: &[&[u32]]) -> Result<Encoding<O>> {
        let mut rows = Vec::with_capacity(sequences.len());
        let mut tokens = Vec::new();
        let mut positions = Vec::new();
        for sequence in sequences {
            rows.push(tokens.len()..tokens.len() + sequence.len());
            tokens.extend(sequence.iter().copied().map(Some));
            positions.extend(0..sequence.len());
        }
        let segment = |rows: &Range<usize>| {
            let (query_rows, kv_rows) = (rows.clone(), rows.clone());
            AttentionSegment { query_rows, kv: 0, kv_rows, past_len: 0 }
        };
        // The largest tensor comes first, and those of the blocks find its room: what smaller ones leave is too small for
        // it, and memory would have to grow once more.
        drop(ops.zeros(tokens.len(), self.widest));
        let Residual { x, .. } = self.embed(ops, StepTokens::Known(&tokens), &positions)?;
        let longest = sequences.iter().map(|sequence| sequence.len()).max().unwrap_or(0);
        Ok(Encoding {
            bottom: self.final_residual.then(|| ops.copy(&x)),
            relative: self.relative.as_ref().map(|table| table.rows(ops, longest)),
            x,
            segments: rows.iter().map(segment).collect(),
            #[cfg(feature = "recurrent")]
            states: {
                let blocks = self.blocks.iter();
                blocks.map(|block| block.state_of_whole(ops, rows.len())).collect()
            },
            rows,
            positions,
            next_block: 0,
        })
    }

    /// Takes the sequences through one block more; whether there was one. Whoever watches gets its weights,
    /// `[all tokens · heads, longest sequence]`.
    pub fn advance(
        &self,
        ops: &mut O,
        encoding: &mut Encoding<O>,
        watch: Option<Watch<'_, O>>,
    ) -> Result<bool> {
        let index = encoding.next_block;
        let Some(block) = self.blocks.get(index) else { return Ok(false) };
        let x = std::mem::replace(&mut encoding.x, ops.zeros(0, 0));
        let mut stream = Residual { x, pending_norm: self.pending_norm(index) };
        #[cfg(feature = "recurrent")]
        let state = encoding.states.get_mut(index).and_then(Option::as_mut);
        #[cfg(not(feature = "recurrent"))]
        let state = None;
        let input = BlockInput {
            segments: &encoding.segments,
            positions: &encoding.positions,
            relative: encoding.relative.as_ref(),
            state,
            cross: None,
            weights_of: watch.as_ref().map_or([&[]; 2], |watch| watch.heads(index)),
        };
        let weights = block.forward(ops, &mut stream, input)?;
        if let Some(watch) = watch {
            (watch.take)(index, weights);
        }
        encoding.x = stream.x;
        encoding.next_block += 1;
        Ok(true)
    }

    /// What the last block gave, `[all tokens, hidden_size]`, and the rows of each sequence.
    pub fn end(&self, ops: &mut O, encoding: Encoding<O>) -> (O::Tensor, Vec<Range<usize>>) {
        let Encoding { x, bottom, rows, next_block, .. } = encoding;
        let stream = Residual { x, pending_norm: self.pending_norm(next_block) };
        (self.finish(ops, stream, bottom), rows)
    }

    /// The normalisation that is pending before the block `index`.
    fn pending_norm(&self, index: usize) -> Option<&O::Norm> {
        match index.checked_sub(1) {
            None => self.embedding_norm.as_ref(),
            Some(before) => self.blocks.get(before)?.pending_norm(),
        }
    }

    /// Moves every row on by the same number of tokens, those of a row one under the other: `[tokens, hidden_size]`.
    /// Whoever watches gets the weights of each block, `[tokens · heads, longest past and tokens]` of self-attention,
    /// `[tokens · heads, longest source]` of cross-attention.
    pub fn decode(
        &self,
        ops: &mut O,
        tokens: StepTokens<'_, O>,
        input: DecoderInput<'_, O>,
    ) -> Result<O::Tensor> {
        let DecoderInput { state, cross, sources, mut watch } = input;
        let (count, rows) = (tokens.len(), state.past_len.len());
        let each = count.checked_div(rows).unwrap_or(0);
        if each * rows != count || (sources.len() != rows && !cross.is_empty()) {
            let sources = sources.len();
            return Err(Error::Internal {
                what: format!("{count} tokens for {rows} rows with {sources} sources"),
            });
        }
        if self.relative.is_some() {
            return Err(Error::Internal { what: "a decoder with relative positions".to_owned() });
        }
        let DecoderState { layers, past_len, segments: [segments, cross_segments], positions } =
            state;
        segments.clear();
        positions.clear();
        for (row, &past_len) in past_len.iter().enumerate() {
            segments.push(AttentionSegment {
                query_rows: row * each..(row + 1) * each,
                kv: row,
                kv_rows: 0..past_len + each,
                past_len,
            });
            positions.extend(past_len..past_len + each);
        }
        cross_segments.clear();
        cross_segments.extend(sources.iter().enumerate().map(|(row, source)| AttentionSegment {
            query_rows: row * each..(row + 1) * each,
            kv: source.batch,
            kv_rows: source.rows.clone(),
            past_len: 0,
        }));
        let mut stream = self.embed(ops, tokens, positions)?;
        let bottom = self.final_residual.then(|| ops.copy(&stream.x));
        for (index, (block, layer)) in self.blocks.iter().zip(layers).enumerate() {
            let input = BlockInput {
                segments,
                positions,
                relative: None,
                state: Some(layer),
                cross: cross.get(index).map(|batches| (&batches[..], &cross_segments[..])),
                weights_of: watch.as_ref().map_or([&[]; 2], |watch| watch.heads(index)),
            };
            let weights = block.forward(ops, &mut stream, input)?;
            if let Some(watch) = &mut watch {
                (watch.take)(index, weights);
            }
        }
        for past_len in past_len {
            *past_len += each;
        }
        Ok(self.finish(ops, stream, bottom))
    }

    fn embed<'w>(
        &'w self,
        ops: &mut O,
        tokens: StepTokens<'_, O>,
        positions: &[usize],
    ) -> Result<Residual<'w, O>> {
        let positions = self.positions.borrow_mut().rows(ops, positions);
        let (table, scale, positions) = (&self.embedding, self.embedding_scale, positions.as_ref());
        let x = match tokens {
            StepTokens::Known(tokens) => ops.embed(table, tokens, scale, positions)?,
            StepTokens::Chosen(chosen, rows) => {
                ops.embed_chosen(table, chosen, rows, scale, positions)?
            }
        };
        Ok(Residual { x, pending_norm: self.embedding_norm.as_ref() })
    }

    fn finish(
        &self,
        ops: &mut O,
        mut stream: Residual<'_, O>,
        bottom: Option<O::Tensor>,
    ) -> O::Tensor {
        if let Some(bottom) = bottom {
            ops.add_residual(&bottom, &mut stream, None);
        }
        ops.finish(stream, self.final_norm.as_ref())
    }
}

/// Columns of the widest tensor of a block: queries, keys and values, or the feed-forward's.
fn widest(spec: &StackSpec) -> usize {
    let StackConfig { num_heads, num_kv_heads, head_dim, .. } = spec.config;
    let layers = spec.blocks.iter().flat_map(|block| &block.mlp.layers);
    let qkv = (num_heads + 2 * num_kv_heads) * head_dim;
    layers.map(|layer| layer.out_features).fold(qkv, usize::max)
}
