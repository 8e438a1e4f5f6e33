//! Text generation with SmolLM2: sessions, sampling, stopping. What greedy answers begin with is checked in
//! `models_decoder.rs`.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)] // as in any test

mod support;

use multihead::tasks::text_generation::{
    Completed, Cpu, FinishReason, GenerationOptions, LoadOptions, Part, SamplingOptions, Session,
    TextModel,
};
use pollster::block_on;
use std::rc::Rc;
use support::{file, model_file};

fn model() -> Rc<TextModel<Cpu>> {
    let path = model_file("smollm2-135m-instruct", |name| name.ends_with(".gguf"));
    Rc::new(TextModel::load(Cpu::new(), Box::new(file(&path)), LoadOptions::default()).unwrap())
}

/// One user turn, as the model's template writes it.
fn chat(model: &TextModel<Cpu>, user: &str) -> Vec<u32> {
    let system = "You are a helpful AI assistant named SmolLM, trained by Hugging Face";
    let parts = [
        Part::Template("<|im_start|>system\n"),
        Part::Template(system),
        Part::Template("<|im_end|>\n<|im_start|>user\n"),
        Part::Text(user),
        Part::Template("<|im_end|>\n<|im_start|>assistant\n"),
    ];
    model.tokenizer().encode_parts(&parts).iter().map(|piece| piece.id).collect()
}

fn options(max_new_tokens: usize) -> GenerationOptions {
    GenerationOptions { max_new_tokens, context_window: 2048, ..GenerationOptions::default() }
}

/// Runs a job; joins what it hands out on the way, which must be the text of the result.
fn run(session: &Session<Cpu>, prompt: &[u32], options: &GenerationOptions) -> Completed {
    let mut job = session.generate(prompt.to_vec(), options.clone()).unwrap();
    let mut streamed = String::new();
    while !job.is_done() {
        block_on(job.step()).unwrap();
        streamed.push_str(&job.take_text());
    }
    streamed.push_str(&job.take_text());
    let completed = job.complete().unwrap();
    assert_eq!(streamed, completed.text);
    completed
}

fn ids(completed: &Completed) -> Vec<u32> {
    completed.tokens.iter().map(|(id, _)| *id).collect()
}

#[test]
fn a_session_reads_only_what_is_new() {
    let model = model();
    let session = model.session();
    let first = chat(&model, "Name three animals that live in the sea.");
    let answer = run(&session, &first, &options(12));
    assert_eq!((answer.prompt_tokens, answer.cached_tokens), (first.len(), 0));
    // The next turn goes on after the answer.
    let turn = [
        Part::Template("<|im_end|>\n<|im_start|>user\n"),
        Part::Text("And one that flies?"),
        Part::Template("<|im_end|>\n<|im_start|>assistant\n"),
    ];
    let turn = model.tokenizer().encode_parts(&turn);
    let mut second = first.clone();
    second.extend(ids(&answer));
    second.extend(turn.iter().map(|piece| piece.id));
    let again = run(&session, &second, &options(12));
    // The last token of an answer is not read before something comes after it.
    assert!(again.cached_tokens >= first.len() + 11, "{}", again.cached_tokens);
    // All of it anew gives the same.
    let fresh = run(&model.session(), &second, &options(12));
    assert_eq!((fresh.cached_tokens, &fresh.text), (0, &again.text));
    // A fork begins where the session is, and leaves it alone.
    let fork = session.fork().unwrap();
    let other = run(&fork, &chat(&model, "What is 2 + 2?"), &options(8));
    assert!(other.cached_tokens > 10, "the beginning is the same");
    let third = run(&session, &second, &options(12));
    assert_eq!(third.text, fresh.text);
    assert_eq!(third.cached_tokens, second.len() - 1);
}

#[test]
fn two_jobs_of_two_sessions_do_not_touch() {
    let model = model();
    let prompts = ["Why is the sky blue?", "Write one sentence about winter."];
    let prompts = prompts.map(|prompt| chat(&model, prompt));
    let alone = prompts.each_ref().map(|prompt| run(&model.session(), prompt, &options(16)).text);
    let sessions = [model.session(), model.session()];
    let mut jobs: Vec<_> = sessions
        .iter()
        .zip(&prompts)
        .map(|(session, prompt)| session.generate(prompt.clone(), options(16)).unwrap())
        .collect();
    while jobs.iter().any(|job| !job.is_done()) {
        for job in &mut jobs {
            block_on(job.step()).unwrap();
        }
    }
    let together: Vec<_> = jobs.into_iter().map(|job| job.complete().unwrap().text).collect();
    assert_eq!(together, alone);
}

#[test]
fn two_jobs_of_one_session_give_what_each_would_alone() {
    let model = model();
    let prompts = ["Why is the sky blue?", "Write one sentence about winter."];
    let prompts = prompts.map(|prompt| chat(&model, prompt));
    let alone = prompts.each_ref().map(|prompt| run(&model.session(), prompt, &options(8)).text);
    let session = model.session();
    let mut jobs =
        prompts.each_ref().map(|prompt| session.generate(prompt.clone(), options(8)).unwrap());
    while jobs.iter().any(|job| !job.is_done()) {
        for job in &mut jobs {
            block_on(job.step()).unwrap();
        }
    }
    assert_eq!(jobs.map(|job| job.complete().unwrap().text), alone);
}

#[test]
fn an_aborted_answer_leaves_its_session_usable() {
    let model = model();
    let session = model.session();
    let prompt = chat(&model, "Why is the sky blue?");
    let want = run(&model.session(), &prompt, &options(10)).text;
    for steps in [0, 1, 2, 5] {
        let mut job = session.generate(prompt.clone(), options(10)).unwrap();
        for _ in 0..steps {
            block_on(job.step()).unwrap();
        }
        drop(job);
        assert_eq!(run(&session, &prompt, &options(10)).text, want, "after {steps} steps");
    }
}

#[test]
fn texts_end_where_they_should() {
    let model = model();
    let prompt = chat(&model, "Why is the sky blue?");
    let whole = run(&model.session(), &prompt, &options(24));
    assert_eq!((whole.finish_reason, whole.tokens.len()), (FinishReason::Length, 24));
    // A stop string from the middle of a token to the middle of another.
    let middle = whole.text.char_indices().nth(20).unwrap().0;
    let stop = whole.text[middle..].chars().take(7).collect::<String>();
    let at = whole.text.find(&stop).unwrap();
    let stopped = GenerationOptions { stop: vec![stop], ..options(24) };
    let stopped = run(&model.session(), &prompt, &stopped);
    assert_eq!(stopped.text, whole.text[..at]);
    assert_eq!(stopped.finish_reason, FinishReason::Stop);
    // The window counts the prompt.
    let tight = GenerationOptions { context_window: prompt.len() + 3, ..options(24) };
    let tight = run(&model.session(), &prompt, &tight);
    assert_eq!((tight.finish_reason, tight.tokens.len()), (FinishReason::Length, 3));
    assert!(whole.text.starts_with(&tight.text));
    let none = GenerationOptions { context_window: prompt.len(), ..options(1) };
    assert!(model.session().generate(prompt.clone(), none).is_err());
    assert!(model.session().generate(Vec::new(), options(1)).is_err());
    let wide = GenerationOptions { context_window: model.info().context_len + 1, ..options(1) };
    assert!(model.session().generate(prompt.clone(), wide).is_err());
    let own = GenerationOptions { context_window: 0, ..options(3) };
    assert_eq!(run(&model.session(), &prompt, &own).tokens.len(), 3);
    assert!(model.session().generate(vec![u32::MAX], options(1)).is_ok(), "found when it is read");
    // Its own end token ends an answer, and is no part of it.
    let short = chat(&model, "Answer with the single word: yes");
    let answer = run(&model.session(), &short, &options(200));
    assert_eq!(answer.finish_reason, FinishReason::Stop);
    assert!(!answer.text.contains("<|im_end|>"));
}

#[test]
fn the_seed_decides_and_probabilities_are_told() {
    let model = model();
    let prompt = chat(&model, "Write one sentence about winter.");
    let sampled = |seed| {
        let sampling = SamplingOptions { temperature: 1.0, top_k: 50, seed, ..Default::default() };
        let options = GenerationOptions { sampling, logprobs: true, ..options(12) };
        run(&model.session(), &prompt, &options)
    };
    let (one, same, other) = (sampled(1), sampled(1), sampled(2));
    assert_eq!(one, same);
    assert_ne!(one.text, other.text);
    // The log-probabilities are those that scoring the same tokens gives.
    let tokens: Vec<u32> = prompt.iter().copied().chain(ids(&one)).collect();
    let mut score = model.score(tokens).unwrap();
    while !score.is_done() {
        block_on(score.step()).unwrap();
    }
    let scores = score.finish().unwrap();
    assert!(scores[0].is_nan() && scores[1..].iter().all(|score| *score <= 0.0));
    assert_eq!(scores[prompt.len()..], one.logprobs.unwrap());
}
