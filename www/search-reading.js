// Reading: passages become vectors, some at a time, and vectors are compared.

import { Pace } from './pace.js';
import { dot } from './principal.js';

/** @typedef {import('./passages.js').Passage} Passage */
/** @typedef {import('../pkg/dist/index.js').Embedder} Embedder */
/** @typedef {{ passage: Passage, score: number }} Hit A passage and its cosine with the query. */

/** Passages of one call: a query that comes meanwhile waits for no more than these. */
const TOGETHER = 16;

/** Vectors of sentences that were asked for. @type {WeakMap<Passage, Float32Array[]>} */
let sentences = new WeakMap();

/** How many were read, and the time that it took the model. */
export class Figures {
  passages = 0;
  milliseconds = 0;

  reset() {
    [this.passages, this.milliseconds] = [0, 0];
  }

  inWords() {
    const second = (this.passages / this.milliseconds) * 1000;
    return this.passages === 0 ? '' : `${second < 10 ? second.toFixed(1) : Math.round(second)} a second`;
  }
}

/**
 * Reads what has no vector yet, until the signal, with what is added meanwhile.
 * @param {Embedder} embedder @param {() => Passage[]} pending Those without a vector.
 * @param {Figures} figures Grow. @param {AbortSignal} signal
 * @param {() => Promise<void> | undefined} before Each call: what has to come first.
 * @param {() => void} report Is called after each call.
 */
export async function readAll(embedder, pending, figures, signal, before, report) {
  for (;;) {
    await before();
    const some = pending().slice(0, TOGETHER);
    if (some.length === 0) return;
    const start = performance.now();
    const vectors = await embedder.embed(
      some.map(({ text }) => text),
      { signal },
    );
    figures.milliseconds += performance.now() - start;
    figures.passages += some.length;
    for (const [place, passage] of some.entries()) {
      const vector = vectors[place];
      if (vector !== undefined) passage.vector = vector;
    }
    report();
  }
}

/** Forgets what the model made of passages: another device may make something a little different of them. @param {readonly Passage[]} passages */
export function forget(passages) {
  sentences = new WeakMap();
  for (const passage of passages) delete passage.vector;
}

/** The passages that are nearest to a query, the nearest first. @param {readonly Passage[]} passages @param {Float32Array} query @param {number} count @returns {Promise<Hit[]>} */
export async function nearest(passages, query, count) {
  const pace = new Pace();
  /** @type {Hit[]} */
  const hits = [];
  for (const passage of passages) {
    if (passage.vector !== undefined) hits.push({ passage, score: dot(passage.vector, query) });
    if (pace.isOver) await pace.rest();
  }
  hits.sort((a, b) => b.score - a.score);
  // What is made of them is a task of its own.
  await pace.rest();
  return hits.slice(0, count);
}

/**
 * Which sentence of a passage is nearest to the query. One alone need not be read.
 * @param {Embedder} embedder @param {Passage} passage @param {Float32Array} query @param {AbortSignal} signal
 */
export async function bestSentence(embedder, passage, query, signal) {
  const { text, sentences: ranges } = passage;
  if (ranges.length < 2) return 0;
  let vectors = sentences.get(passage);
  if (vectors === undefined) {
    vectors = await embedder.embed(
      ranges.map((range) => text.slice(...range)),
      { signal },
    );
    sentences.set(passage, vectors);
  }
  const scores = vectors.map((vector) => dot(vector, query));
  return scores.indexOf(Math.max(...scores));
}
