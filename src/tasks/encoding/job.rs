//! Work on its way: texts in groups, a group block by block, so that a caller has its turn in between.

use super::answer::{Answer, Embedded, MaskFill, Tagged};
use super::embed::EmbeddingOptions;
use super::model::{EncodingModel, Task, TooLong, checked};
use crate::error::{Error, Result};
use crate::ops::Ops;
use crate::stack::{BlockWeights, Encoding as Blocks, Watch};
use crate::tasks::attention::{
    Attention, AttentionRequest, AttentionWeights, OfKinds, Wanted, check_room, room,
};
use crate::text::json_tokenizer::{Encoding, Piece};
use std::{ops::Range, rc::Rc};

/// Texts are taken together up to about so many tokens: enough for matrices to be read seldom, and few enough for what
/// lies between them to stay in a core's caches.
pub(super) const GROUP: usize = 128;

/// What the texts are encoded for.
#[derive(Debug, Clone, Copy)]
enum Purpose {
    Embed(EmbeddingOptions),
    Classify { top: usize },
    Tag,
    Fill { top: usize },
}

/// Texts being encoded.
pub struct EncodingJob<O: Ops> {
    model: Rc<EncodingModel<O>>,
    ops: O,
    texts: Vec<String>,
    /// Texts that have been begun.
    begun: usize,
    completed: usize,
    purpose: Purpose,
    too_long: TooLong,
    /// Tokens of the texts that go through the blocks together.
    running: Option<(Vec<Encoding>, Blocks<O>)>,
    /// Tokens of the first text that is not begun, where it found no place in a group.
    waiting: Option<Encoding>,
    answer: Answer,
    /// The attention that is wanted, and what has come of it for the text under way.
    watched: Option<(OfKinds<Wanted>, Attention)>,
    /// Tokens of the text that was labelled, or whose gap was filled, and their attention.
    looked: Option<(Vec<Piece>, AttentionWeights)>,
}

impl<O: Ops + Clone> EncodingModel<O> {
    /// Begins to embed texts.
    pub fn embed(self: &Rc<Self>, texts: Vec<String>, options: EmbeddingOptions) -> EncodingJob<O> {
        let answer = Answer::Embeddings(Embedded::default());
        self.job(texts, Purpose::Embed(options), options.too_long, answer)
    }

    /// Begins to label a text; `top` labels are given, likeliest first.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] of a model that is for something else.
    pub fn classify(
        self: &Rc<Self>,
        text: String,
        top: usize,
        too_long: TooLong,
    ) -> Result<EncodingJob<O>> {
        self.require(Task::Classify)?;
        let answer = super::Classification { labels: Vec::new(), truncated: false };
        let answer = Answer::Classification(answer);
        Ok(self.job(vec![text], Purpose::Classify { top }, too_long, answer))
    }

    /// Begins to label the words of a text.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] of a model that is for something else.
    pub fn tag(self: &Rc<Self>, text: String, too_long: TooLong) -> Result<EncodingJob<O>> {
        self.require(Task::Tag)?;
        let answer = Answer::Tagged(Tagged { entities: Vec::new(), truncated: false });
        Ok(self.job(vec![text], Purpose::Tag, too_long, answer))
    }

    /// Begins to look for the `top` tokens that fit best into the gap of a text, which is the model's mask token.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] of a model that is for something else.
    pub fn fill(
        self: &Rc<Self>,
        text: String,
        top: usize,
        too_long: TooLong,
    ) -> Result<EncodingJob<O>> {
        self.require(Task::Fill)?;
        let answer = MaskFill { candidates: Vec::new(), range: 0..0, truncated: false };
        Ok(self.job(vec![text], Purpose::Fill { top }, too_long, Answer::Filled(answer)))
    }

    fn job(
        self: &Rc<Self>,
        texts: Vec<String>,
        purpose: Purpose,
        too_long: TooLong,
        answer: Answer,
    ) -> EncodingJob<O> {
        let (model, ops) = (Rc::clone(self), self.ops.clone());
        EncodingJob {
            model,
            ops,
            texts,
            begun: 0,
            completed: 0,
            purpose,
            too_long,
            running: None,
            waiting: None,
            answer,
            watched: None,
            looked: None,
        }
    }

    fn require(&self, task: Task) -> Result<()> {
        let can = &self.info().tasks;
        if can.contains(&task) {
            return Ok(());
        }
        let use_of = |task: &Task| match task {
            Task::Embed => "embed()",
            Task::Classify => "classify()",
            Task::Tag => "tagTokens()",
            Task::Fill => "fillMask()",
        };
        let head = match task {
            Task::Embed => "encoder",
            Task::Classify => "ForSequenceClassification",
            Task::Tag => "ForTokenClassification",
            Task::Fill => "ForMaskedLM",
        };
        let can: Vec<&str> = can.iter().map(use_of).collect();
        let what = format!(
            "{} needs a model with the head {head}; this one has it not, and is for {}",
            use_of(&task),
            can.join(" and ")
        );
        Err(Error::InvalidArgument { option: "model", what })
    }
}

impl<O: Ops + Clone> EncodingJob<O> {
    /// Has attention weights come with the answer, of the tokens with those around the text: in an embedding, of anything
    /// else by [`EncodingJob::take_attention`]. Texts then go through the blocks one by one.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for what the model does not have; [`Error::TooMuch`] where it would take too much memory, all
    /// texts together.
    pub fn watch(&mut self, request: &AttentionRequest) -> Result<()> {
        let model = &self.model;
        let wanted = request.of([model.encoder.attention(), [0, 0], [0, 0]])?;
        let limit = Some(model.info().max_tokens);
        let tokens = |text: &String| model.tokenizer.encode(text, limit).pieces.len();
        let lens = self.texts.iter().map(|text| [[tokens(text); 2], [0, 0], [0, 0]]);
        check_room(&wanted, lens)?;
        self.watched = Some((wanted, Attention::default()));
        Ok(())
    }

    /// Whether every text is done.
    pub fn is_done(&self) -> bool {
        self.completed == self.texts.len()
    }

    /// The tokens of the text that was labelled, or whose gap was filled, and their attention, if it was asked for.
    pub fn take_attention(&mut self) -> Option<(Vec<Piece>, AttentionWeights)> {
        self.looked.take()
    }

    /// Texts that are done.
    pub fn completed(&self) -> usize {
        self.completed
    }

    /// Cuts some texts into tokens, or takes those under way through one block.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a text that is too long where that is an error, or without the gap that is to be
    /// filled; [`Error::TooMuch`] where memory has no room for attention; whatever the device reports. The job is of no use after it.
    pub async fn step(&mut self) -> Result<()> {
        let Some((encodings, mut blocks)) = self.running.take() else { return self.begin() };
        let mut seen = None;
        let mut take = |layer, weights: BlockWeights<O>| {
            seen = weights.mixer.map(|weights| (layer, weights));
        };
        let watch = self.watched.as_ref().map(|([Wanted { layers, heads }, ..], _)| Watch {
            layers,
            mixer: heads,
            cross: &[],
            take: &mut take,
        });
        if self.model.encoder.advance(&mut self.ops, &mut blocks, watch)? {
            if let (Some(seen), Some((_, [attention, ..]))) = (seen, &mut self.watched) {
                attention.take(&mut self.ops, seen, 0).await?;
            }
            self.running = Some((encodings, blocks));
            return Ok(());
        }
        self.end(encodings, blocks).await
    }

    /// The answer.
    ///
    /// # Errors
    /// [`Error::Internal`] if the job is not done.
    pub fn finish(self) -> Result<Answer> {
        if !self.is_done() {
            return Err(Error::Internal {
                what: "a job was asked for its result early".to_owned(),
            });
        }
        Ok(self.answer)
    }

    fn begin(&mut self) -> Result<()> {
        let mut encodings: Vec<Encoding> = Vec::new();
        let mut tokens = 0;
        while let Some(text) = self.texts.get(self.begun) {
            let limit = Some(self.model.info().max_tokens);
            let encoding =
                self.waiting.take().unwrap_or_else(|| self.model.tokenizer.encode(text, limit));
            if encoding.truncated && self.too_long == TooLong::Error {
                return Err(self.too_long(text));
            }
            let is_full = tokens > 0 && tokens + encoding.pieces.len() > GROUP;
            if is_full || (self.watched.is_some() && !encodings.is_empty()) {
                self.waiting = Some(encoding);
                break;
            }
            tokens += encoding.pieces.len();
            encodings.push(encoding);
            self.begun += 1;
        }
        if encodings.is_empty() {
            return Ok(());
        }
        let ids = |encoding: &Encoding| encoding.pieces.iter().map(|piece| piece.id).collect();
        let ids: Vec<Vec<u32>> = encodings.iter().map(ids).collect();
        let ids: Vec<&[u32]> = ids.iter().map(Vec::as_slice).collect();
        if let Some((wanted, attention)) = &mut self.watched {
            *attention = room(wanted, [[tokens; 2], [0, 0], [0, 0]])?;
        }
        let blocks = self.model.encoder.begin(&mut self.ops, &ids)?;
        self.running = Some((encodings, blocks));
        Ok(())
    }

    fn too_long(&self, text: &str) -> Error {
        let (has, limit) =
            (self.model.tokenizer.encode(text, None).pieces.len(), self.model.info().max_tokens);
        let which = match self.texts.len() {
            1 => "the text".to_owned(),
            _ => format!("text {} of the list (counted from 0)", self.begun),
        };
        let what = format!(
            "{which} has {has} tokens, the model looks at {limit}. Split it, or have tooLong 'truncate' leave its end out"
        );
        Error::InvalidArgument { option: "tooLong", what }
    }

    async fn end(&mut self, encodings: Vec<Encoding>, blocks: Blocks<O>) -> Result<()> {
        let count = encodings.len();
        let (model, ops) = (&self.model, &mut self.ops);
        match (&mut self.answer, self.purpose) {
            (Answer::Embeddings(to), Purpose::Embed(options)) => {
                model.add_vectors(ops, encodings, blocks, options, to).await?;
                if let Some((_, attention)) = &mut self.watched {
                    let [encoder, ..] = std::mem::take(attention);
                    to.attention.push(encoder);
                }
            }
            (answer, purpose) => {
                let text = self.texts.first().map(String::as_str).unwrap_or_default();
                let encoding = encodings.into_iter().next().unwrap_or_default();
                let (hidden, rows) = model.encoder.end(ops, blocks);
                let asked = match purpose {
                    Purpose::Fill { .. } => Some(vec![model.gap(&encoding)?]),
                    _ => None,
                };
                let scores = scores(model, ops, &hidden, &rows, asked.as_deref()).await?;
                *answer = match purpose {
                    Purpose::Classify { top } => {
                        Answer::Classification(model.classification(scores, top, &encoding))
                    }
                    Purpose::Tag => Answer::Tagged(model.tagged(scores, text, &encoding)),
                    Purpose::Fill { top } => {
                        Answer::Filled(model.filled(scores, top, text, &encoding))
                    }
                    Purpose::Embed(_) => {
                        return Err(Error::Internal { what: "an embedding of one".to_owned() });
                    }
                };
                if let Some((_, attention)) = &mut self.watched {
                    let [encoder, ..] = std::mem::take(attention);
                    self.looked = Some((encoding.pieces, encoder));
                }
            }
        }
        self.completed += count;
        Ok(())
    }
}

/// What the head gives, row after row.
async fn scores<O: Ops + Clone>(
    model: &EncodingModel<O>,
    ops: &mut O,
    hidden: &O::Tensor,
    rows: &[Range<usize>],
    asked: Option<&[usize]>,
) -> Result<Vec<f32>> {
    let Some(scores) = model.encoder.scores(ops, hidden, rows, asked) else {
        return Err(Error::Internal { what: "scores of a model without a head".to_owned() });
    };
    let mut values = Vec::new();
    ops.read(&scores, &mut values).await?;
    checked(values)
}
