//! Heads of encoders, as `architectures` of a `config.json` names them.

use super::{Description, Family};
use crate::error::Result;
use crate::formats::TensorFile;
use crate::model::{DenseSpec, HeadRows, HeadSpec, MatrixLayout, OutputSpec, StackSpec};

impl Description<'_> {
    /// The head of the model; none of what is an encoder alone, or has a head that is not known. What was trained further
    /// from a model with a head often still names it, with none of its tensors: that is an encoder alone.
    pub(super) fn head(&self, stack: &StackSpec) -> Result<Option<HeadSpec>> {
        let architectures = self.config.strings("architectures")?.unwrap_or_default();
        let is = |ending: &str| architectures.iter().any(|name| name.ends_with(ending));
        let Family { classifier, vocabulary, .. } = self.family;
        Ok(if is("ForSequenceClassification") {
            // The stack's own map is there without a head too.
            let first = Some(classifier.first).filter(|_| !classifier.first_in_stack);
            let is_there = self.has(classifier.second) || first.is_some_and(|map| self.has(map));
            is_there.then(|| self.text_scores())
        } else if is("ForTokenClassification") {
            self.has("classifier").then(|| {
                let layers = vec![self.dense("classifier", self.scores_of("classifier"))];
                HeadSpec { rows: HeadRows::Every, layers, output: None }
            })
        } else if is("ForMaskedLM") || is("ForPreTraining") {
            let is_there = self.has(vocabulary.dense) || self.has(vocabulary.norm);
            is_there.then(|| self.vocabulary_scores(stack))
        } else {
            None
        })
    }

    /// Whether the file has any tensor, of whatever type, of what is called so.
    fn has(&self, name: &str) -> bool {
        let is_of =
            |tensor: &str| tensor.strip_prefix(name).is_some_and(|part| part.starts_with('.'));
        self.file.tensors().any(|tensor| is_of(&tensor.name))
            || self.file.others().any(|(_, tensor)| is_of(&tensor.name))
    }

    /// Scores that a map gives: as many as its matrix has rows.
    fn scores_of(&self, name: &str) -> usize {
        let matrix = self.file.find(&format!("{name}.weight"));
        matrix.and_then(|matrix| matrix.shape.first().copied()).unwrap_or(0)
    }

    fn dense(&self, name: &str, out_features: usize) -> DenseSpec {
        let linear = self.linear(name, self.hidden_size, out_features);
        DenseSpec { linear, activation: None, norm: None }
    }

    fn text_scores(&self) -> HeadSpec {
        let classifier = &self.family.classifier;
        let first = match classifier.first_in_stack {
            true => self.name(classifier.first),
            false => classifier.first.to_owned(),
        };
        let first = DenseSpec {
            activation: Some(classifier.activation),
            ..self.dense(&first, self.hidden_size)
        };
        let second = self.dense(classifier.second, self.scores_of(classifier.second));
        HeadSpec { rows: HeadRows::First, layers: vec![first, second], output: None }
    }

    fn vocabulary_scores(&self, stack: &StackSpec) -> HeadSpec {
        let names = &self.family.vocabulary;
        let has = |name: &str| self.file.find(name).is_some();
        let dense = DenseSpec {
            activation: Some(names.activation.unwrap_or(self.activation)),
            norm: Some(self.norm(names.norm)),
            ..self.dense(names.dense, self.hidden_size)
        };
        let [bias, other] = names.bias;
        let output = OutputSpec {
            table: if has(names.table) { names.table.to_owned() } else { stack.embedding.clone() },
            layout: MatrixLayout::OutIn,
            bias: Some(if has(bias) || !has(other) { bias } else { other }.to_owned()),
            activation_multiplier: Vec::new(),
            vocab_size: stack.vocab_size,
            in_features: self.hidden_size,
            cap: None,
        };
        HeadSpec { rows: HeadRows::Every, layers: vec![dense], output: Some(output) }
    }
}
