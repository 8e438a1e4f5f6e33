// A text becomes passages, short enough for the model to read each as a whole.

import { blocksOf, isMarkdown } from './markdown.js';
import { Pace } from './pace.js';

/** @typedef {import('./markdown.js').Block} Block */

/**
 * @typedef {object} Passage
 * @property {string} text
 * @property {string} heading That it stands under; empty above the first.
 * @property {number} line Of the source, counted from 1: where its paragraph begins.
 * @property {[number, number][]} sentences Ranges of `text`, UTF-16.
 * @property {Float32Array} [vector] Of length 1, once it was read.
 */

/** Most tokens of a passage, as {@link tokensIn} counts them. The model takes 256, two of them its own. */
const MOST = 220;
/** A paragraph with fewer words belongs to the next one. */
const FEWEST_WORDS = 4;

const sentences = new Intl.Segmenter('en', { granularity: 'sentence' });

/** @param {string} name Of the text. @param {string} text @returns {Promise<Passage[]>} */
export async function passagesOf(name, text) {
  const pace = new Pace();
  /** @type {Passage[]} */
  const passages = [];
  /** A short one that waits for the next. @type {Block | undefined} */
  let short;
  for (const block of blocksOf(text.replaceAll(/\r\n?/g, '\n'), isMarkdown(name, text))) {
    const whole = short?.heading === block.heading ? joined(short, block) : block;
    if (short !== undefined && whole === block) passages.push(...cut(short));
    short = undefined;
    if (whole.text.split(/\s+/u, FEWEST_WORDS).length < FEWEST_WORDS && !whole.isCode) short = whole;
    else passages.push(...cut(whole));
    if (pace.isOver) await pace.rest();
  }
  if (short !== undefined) passages.push(...cut(short));
  return passages;
}

/** @param {Block} first @param {Block} second @returns {Block} */
const joined = (first, second) => ({
  ...first,
  ...second,
  text: `${first.text}\n${second.text}`,
  line: first.line,
});

/**
 * How many tokens a text has, rather more than fewer: a word of Latin letters has one or two in most cases, other
 * letters and all signs have one each.
 * @param {string} text
 */
export function tokensIn(text) {
  let sum = 0;
  for (const [run] of text.matchAll(/[\p{Script=Latin}\p{M}]+|[^\s]/gu)) sum += Math.ceil(run.length / 3);
  return sum;
}

/** As few passages as hold the sentences of a block. @param {Block} block @returns {Passage[]} */
function cut({ text, heading, line, isCode }) {
  /** @type {Passage[]} */
  const passages = [];
  /** @type {[number, number][]} */
  let ranges = [];
  let tokens = 0;
  const close = () => {
    const [start, end] = [ranges[0]?.[0] ?? 0, ranges.at(-1)?.[1] ?? 0];
    const own = ranges.map((range) => /** @type {[number, number]} */ ([range[0] - start, range[1] - start]));
    if (end > start) passages.push({ text: text.slice(start, end), heading, line, sentences: own });
    ranges = [];
    tokens = 0;
  };
  for (const range of rangesOf(text, isCode)) {
    const more = tokensIn(text.slice(...range));
    if (tokens + more > MOST) close();
    ranges.push(range);
    tokens += more;
  }
  close();
  return passages;
}

/** The sentences of a text, or its lines; what is too long for a passage in parts. @param {string} text @param {boolean} lines @returns {Generator<[number, number]>} */
function* rangesOf(text, lines) {
  const parts = lines ? text.matchAll(/[^\n]+/g) : sentences.segment(text);
  for (const part of parts) {
    const whole = 'segment' in part ? part.segment : part[0];
    const start = part.index + whole.length - whole.trimStart().length;
    const sentence = whole.trim();
    if (sentence === '') continue;
    if (tokensIn(sentence) <= MOST) yield [start, start + sentence.length];
    else yield* partsOf(sentence, start);
  }
}

/** @param {string} sentence @param {number} start @returns {Generator<[number, number]>} */
function* partsOf(sentence, start) {
  let [from, to, tokens] = [0, 0, 0];
  // Words with the white space after them; what has none, letter by letter.
  for (const { 0: run, index } of sentence.matchAll(/[^\s]{1,60}\s*/gu)) {
    const more = tokensIn(run);
    if (tokens + more > MOST) {
      yield [start + from, start + from + sentence.slice(from, to).trimEnd().length];
      [from, tokens] = [index, 0];
    }
    to = index + run.length;
    tokens += more;
  }
  yield [start + from, start + to];
}
