//! Words that a translation model links, against links set by hand: the alignment error rate of its attention.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)] // as in any test

mod support;

use multihead::backend::cpu::Cpu;
use multihead::formats::marian::MarianFile;
use multihead::generate::{BeamOptions, Search, SearchInput};
use multihead::model::arch;
use multihead::stack::{EncoderDecoder, Precision};
use multihead::tasks::translation::{DecodingOptions, Token};
use pollster::block_on;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::ops::Range;
use support::{file, fixture, json, model_file, network, translator_without_shortlist};

/// The end token of the model's vocabulary.
const END: u32 = 0;

/// `(source word, target word)`, counted from 0.
type Links = BTreeSet<(usize, usize)>;

/// A pair as the fixture has it.
#[derive(Deserialize)]
struct Written {
    en: String,
    pt: String,
    sure: String,
    possible: String,
    unlinked_en: BTreeSet<usize>,
    unlinked_pt: BTreeSet<usize>,
}

/// One side of a pair: the text as people write it, and where its words and signs stand in it.
struct Side {
    text: String,
    words: Vec<Range<usize>>,
}

impl Side {
    fn new(words: &str) -> Self {
        let mut side = Self { text: String::new(), words: Vec::new() };
        for word in words.split(' ') {
            if !side.text.is_empty() && !matches!(word, "." | "," | "?") {
                side.text.push(' ');
            }
            let start = side.text.len();
            side.text.push_str(word);
            side.words.push(start..side.text.len());
        }
        side
    }

    /// The word that a token is of: the one it shares most bytes with, the first of such; none for a space alone.
    fn word_of(&self, token: &Token) -> Option<usize> {
        let shared = |word: &Range<usize>| {
            word.end.min(token.range.end).saturating_sub(word.start.max(token.range.start))
        };
        let most = self.words.iter().map(shared).max()?;
        if most == 0 { None } else { self.words.iter().position(|word| shared(word) == most) }
    }

    fn words_of(&self, tokens: &[Token]) -> Vec<Option<usize>> {
        tokens.iter().map(|token| self.word_of(token)).collect()
    }
}

struct Pair {
    source: Side,
    target: Side,
    sure: Links,
    /// The sure ones too.
    possible: Links,
}

fn links(written: &str) -> Links {
    let link = |link: &str| {
        let (source, target) = link.split_once('-').unwrap();
        (source.parse().unwrap(), target.parse().unwrap())
    };
    written.split_whitespace().map(link).collect()
}

/// The pairs, each checked: links of words that there are, none twice, and no word forgotten.
fn pairs() -> Vec<Pair> {
    let written: Vec<Written> =
        serde_json::from_value(json(&fixture("alignment/en-pt.json"))).unwrap();
    let mut pairs = Vec::new();
    for pair in written {
        let [sure, possible] = [&pair.sure, &pair.possible].map(|of| links(of));
        assert!(sure.is_disjoint(&possible), "{}", pair.en);
        let count = pair.sure.split_whitespace().chain(pair.possible.split_whitespace()).count();
        assert_eq!(sure.len() + possible.len(), count, "a link twice: {}", pair.en);
        let possible = &sure | &possible;
        let [source, target] = [&pair.en, &pair.pt].map(|words| Side::new(words));
        let linked: [BTreeSet<usize>; 2] =
            [possible.iter().map(|link| link.0).collect(), possible.iter().map(|l| l.1).collect()];
        for (side, linked, unlinked) in
            [(&source, &linked[0], &pair.unlinked_en), (&target, &linked[1], &pair.unlinked_pt)]
        {
            assert!(linked.is_disjoint(unlinked), "{}", side.text);
            assert!((linked | unlinked).into_iter().eq(0..side.words.len()), "{}", side.text);
        }
        pairs.push(Pair { source, target, sure, possible });
    }
    assert_eq!(pairs.len(), 50);
    pairs
}

/// The links that weights `[target tokens, columns]` make, of which the first columns are the source tokens': for each
/// target word the source word with the largest weight, the first of equal ones, where the weight is summed over the
/// tokens of the source word and over those of the target word. Tokens of no word, the end tokens among them, have no part
/// in it. So a target word has one link, or none if it has no token: `2015.` is one, and its word is the number.
fn linked(
    pair: &Pair,
    source_words: &[Option<usize>],
    target_words: &[Option<usize>],
    weights: &[f32],
    columns: usize,
) -> Links {
    let mut summed = vec![vec![0.0; pair.source.words.len()]; pair.target.words.len()];
    for (row, target) in weights.chunks(columns).zip(target_words) {
        for (weight, source) in row.iter().zip(source_words) {
            if let (Some(target), Some(source)) = (target, source) {
                summed[*target][*source] += f64::from(*weight);
            }
        }
    }
    let mut links = Links::new();
    for (target, weights) in summed.iter().enumerate() {
        let most = weights.iter().copied().fold(f64::MIN, f64::max);
        if most > 0.0 {
            links.insert((weights.iter().position(|weight| *weight == most).unwrap(), target));
        }
    }
    links
}

/// Counts over all pairs, of which Och and Ney's error rate is made.
#[derive(Default)]
struct Errors {
    found: usize,
    sure: usize,
    found_sure: usize,
    found_possible: usize,
}

impl Errors {
    fn count(&mut self, pair: &Pair, found: &Links) {
        self.found += found.len();
        self.sure += pair.sure.len();
        self.found_sure += (found & &pair.sure).len();
        self.found_possible += (found & &pair.possible).len();
    }

    /// 1 − (|A∩S| + |A∩P|) / (|A| + |S|)
    fn rate(&self) -> f64 {
        1.0 - (self.found_sure + self.found_possible) as f64 / (self.found + self.sure) as f64
    }

    fn print(&self, of: &str) {
        println!(
            "{of}: alignment error rate {:.3} (precision {:.3}, recall {:.3})",
            self.rate(),
            self.found_possible as f64 / self.found as f64,
            self.found_sure as f64 / self.sure as f64,
        );
    }
}

#[test]
fn the_error_rate_is_that_of_its_formula() {
    let pair = Pair {
        source: Side::new("a b c"),
        target: Side::new("x y ."),
        sure: links("0-0 1-1"),
        possible: links("0-0 1-1 2-1"),
    };
    assert_eq!(
        (pair.target.text.as_str(), &pair.target.words[..]),
        ("x y.", &[0..1, 2..3, 3..4][..])
    );
    // Two tokens of the first source word together outweigh the second's one; the end token's column is left out.
    let weights = [0.3, 0.2, 0.4, 0.0, 0.1, 0.0, 0.0, 0.1, 0.2, 0.7, 0.0, 0.3, 0.1, 0.1, 0.5];
    let [source, target] = [[0, 0, 1, 2], [0, 1, 2, 2]].map(|words| words.map(Some));
    let found = linked(&pair, &source, &target[..3], &weights, 5);
    assert_eq!(found, links("0-0 2-1 0-2"));
    let mut errors = Errors::default();
    errors.count(&pair, &found);
    // |A∩S| = 1, |A∩P| = 2, |A| = 3, |S| = 2
    assert!((errors.rate() - 0.4).abs() < 1e-12);
}

/// A pair as the model reads it.
struct Read {
    pair: Pair,
    /// Tokens of both sides, the end token last.
    tokens: [Vec<u32>; 2],
    /// The word that each token is of, but the end token's.
    words: [Vec<Option<usize>>; 2],
    /// Weights of the guided head, `[target tokens, source tokens]`, with the end tokens.
    guided: Vec<f32>,
}

impl Read {
    fn linked(&self, weights: &[f32]) -> Links {
        let [source, target] = &self.words;
        linked(&self.pair, source, target, weights, self.tokens[0].len())
    }
}

fn read(pairs: Vec<Pair>) -> Vec<Read> {
    let translator = translator_without_shortlist("en-pt", Precision::Float32);
    let read = |pair: Pair| {
        let [source, target] = [&pair.source, &pair.target].map(|side| side.text.clone());
        let options = DecodingOptions::default();
        let mut aligned = block_on(translator.align(source, target, options)).unwrap();
        assert_eq!(aligned.sentences.len(), 1, "{}", pair.source.text);
        let sentence = aligned.sentences.remove(0);
        let sides = [&sentence.source_tokens, &sentence.target_tokens];
        let tokens = sides.map(|side| side.iter().map(|token| token.id).chain([END]).collect());
        let words = [pair.source.words_of(sides[0]), pair.target.words_of(sides[1])];
        Read { pair, tokens, words, guided: sentence.alignment }
    };
    pairs.into_iter().map(read).collect()
}

/// Weights `[target tokens, source tokens]` of one head of a decoder layer, for each pair.
fn weights_of(layer: usize, head: usize, pairs: &[Read]) -> Vec<Vec<f32>> {
    let path = model_file("en-pt", |name| name.starts_with("model."));
    let marian = MarianFile::open(Box::new(file(&path))).unwrap();
    let mut spec = arch::marian::describe(&marian).unwrap();
    spec.alignment = (layer, head);
    let mut ops: Cpu = Cpu::new();
    let model: EncoderDecoder<Cpu> =
        EncoderDecoder::load(&ops, &marian, &spec, Precision::Float32).unwrap();
    let input = |pair: &Read| {
        let [source, given] = pair.tokens.clone();
        SearchInput { source, candidates: None, given: Some(given) }
    };
    let inputs: Vec<_> = pairs.iter().map(input).collect();
    let mut search = Search::new(&mut ops, &model, true);
    search.add(&mut ops, &model, &inputs, BeamOptions::default()).unwrap();
    let mut weights = vec![Vec::new(); pairs.len()];
    while !search.is_done() {
        for (index, mut hypotheses) in block_on(search.step(&mut ops, &model)).unwrap() {
            weights[index] = hypotheses.remove(0).alignment;
        }
    }
    weights
}

/// Given the translation token by token, the head that was trained for it links most words as people do. Beside it stands
/// what nobody trained for it: all heads of the first decoder layer, averaged, as they are and read one token later, where
/// that token is what the layer was given and not what it is about to write (Chen et al. 2020, "Accurate word alignment
/// induction from neural machine translation"); and what needs no model: words in order.
#[test]
fn the_guided_head_links_words_as_people_do() {
    let read = read(pairs());
    let (_, spec) =
        network(&model_file("en-pt", |name| name.starts_with("model.")), Precision::Float32);
    let (layer, head) = spec.alignment;
    assert!(layer > 0, "the first layer is the guided one");
    let [mut guided, mut first, mut first_later, mut in_order] =
        [(); 4].map(|()| Errors::default());
    let num_heads = spec.decoder.config.num_heads;
    let heads: Vec<_> = (0..num_heads).map(|head| weights_of(0, head, &read)).collect();
    let again = weights_of(layer, head, &read);
    for (index, read) in read.iter().enumerate() {
        for (weight, again) in read.guided.iter().zip(&again[index]) {
            assert!((weight - again).abs() < 1e-4, "{}", read.pair.source.text);
        }
        guided.count(&read.pair, &read.linked(&read.guided));
        let mut mean = vec![0.0; read.guided.len()];
        for head in &heads {
            assert_eq!(head[index].len(), mean.len());
            for (mean, weight) in mean.iter_mut().zip(&head[index]) {
                *mean += weight / num_heads as f32;
            }
        }
        first.count(&read.pair, &read.linked(&mean));
        first_later.count(&read.pair, &read.linked(&mean[read.tokens[0].len()..]));
        let [sources, targets] =
            [&read.pair.source, &read.pair.target].map(|side| side.words.len());
        let diagonal = (0..targets).map(|target| (target * sources / targets, target)).collect();
        in_order.count(&read.pair, &diagonal);
    }
    guided.print(&format!("layer {}, head {}, which was guided", layer + 1, head + 1));
    first.print(&format!("layer 1, mean of its {num_heads} heads, not guided"));
    first_later.print("the same, one token later");
    in_order.print("words in order, no model");
    assert!(guided.rate() <= 0.30);
}
