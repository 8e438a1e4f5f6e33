// Words of a translation and how much they looked at each other: alignments are of tokens, people point at words.

/** @typedef {import('../pkg/dist/index.js').Translation} Translation */
/** @typedef {import('../pkg/dist/index.js').TranslatedSentence} Sentence */
/** @typedef {import('../pkg/dist/index.js').Token} Token */

/**
 * Some tokens that stand together, without the white space around them.
 * @typedef {object} Word
 * @property {number} sentence Index of its sentence.
 * @property {[number, number]} range UTF-16, in its text.
 * @property {number[]} tokens Indices of its tokens in the sentence.
 */

/**
 * A word, and how much weight there is between it and the one asked for.
 * @typedef {{ word: Word, weight: number }} Weighed
 */

/** Words of both sides. What was passed through has no tokens, and so no words. */
export class Words {
  /** @type {Word[]} */
  source = [];
  /** @type {Word[]} */
  target = [];
  #sentences;

  /** @param {string} source @param {Translation} translation */
  constructor(source, { text, sentences }) {
    this.#sentences = sentences;
    for (const [index, { sourceTokens, targetTokens }] of sentences.entries()) {
      this.source.push(...wordsOf(source, sourceTokens, index));
      this.target.push(...wordsOf(text, targetTokens, index));
    }
  }

  /**
   * The words on the other side, by weight, the heaviest first. From either side it is the same weight: of what the
   * target word's tokens looked at, on average, the part that lies in the source word.
   * @param {'source' | 'target'} side @param {Word} word @returns {Weighed[]}
   */
  across(side, word) {
    const sentence = this.#sentences[word.sentence];
    if (sentence === undefined) return [];
    const others = (side === 'source' ? this.target : this.source).filter(
      (other) => other.sentence === word.sentence,
    );
    const weighed = others.map((other) => ({
      word: other,
      weight: side === 'source' ? weight(sentence, other, word) : weight(sentence, word, other),
    }));
    weighed.sort((a, b) => b.weight - a.weight);
    return weighed;
  }
}

/**
 * @param {Sentence} sentence @param {Word} target @param {Word} source
 */
function weight({ alignment, sourceTokens }, target, source) {
  const columns = sourceTokens.length + 1; // the end token's column is the last
  let sum = 0;
  for (const row of target.tokens) {
    for (const column of source.tokens) sum += alignment[row * columns + column] ?? 0;
  }
  return sum / target.tokens.length;
}

/**
 * Tokens between white space are a word; marks at its ends are words of their own.
 * @param {string} text @param {readonly Token[]} tokens @param {number} sentence @returns {Word[]}
 */
export function wordsOf(text, tokens, sentence) {
  /** @type {Word[]} */
  const words = [];
  /** @type {(Word & { mark: boolean })[]} */
  let run = [];
  const close = () => {
    const first = run.findIndex(({ mark }) => !mark);
    let end = run.length;
    while (end > 0 && run[end - 1]?.mark) end--;
    const parts = first < 0 ? [run] : [run.slice(0, first), run.slice(first, end), run.slice(end)];
    for (const part of parts) {
      const [head, tail] = [part[0], part.at(-1)];
      if (head === undefined || tail === undefined) continue;
      const range = /** @type {[number, number]} */ ([head.range[0], tail.range[1]]);
      words.push({ sentence, range, tokens: part.flatMap((one) => one.tokens) });
    }
    run = [];
  };
  for (const [index, { range }] of tokens.entries()) {
    const piece = text.slice(...range);
    const start = range[0] + piece.length - piece.trimStart().length;
    const end = range[0] + piece.trimEnd().length;
    if (start >= end) continue;
    const previous = run.at(-1);
    if (previous !== undefined && start > previous.range[1]) close();
    const mark = !/[\p{L}\p{N}]/u.test(piece);
    run.push({ sentence, range: [start, Math.max(end, run.at(-1)?.range[1] ?? 0)], tokens: [index], mark });
  }
  close();
  return words;
}
