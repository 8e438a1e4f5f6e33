// Translations of lines and sentences that were made already, the oldest dropped first.

import { isContained, LINE_BREAK } from './contained.js';
import type { Token, TranslatedSentence, Translation } from './types.js';

/** Characters of source text that are remembered. */
const CAPACITY = 100_000;

export class Known {
  readonly #translations = new Map<string, Translation>();
  #size = 0;
  readonly #bySentence: boolean;

  /** `bySentence`: whether a sentence is translated alone as it is in its line. */
  constructor(bySentence: boolean) {
    this.#bySentence = bySentence;
  }

  get(source: string): Translation | undefined {
    const found = this.#translations.get(source);
    if (found !== undefined) {
      // Last in, last out.
      this.#translations.delete(source);
      this.#translations.set(source, found);
    }
    return found;
  }

  /** Remembers each line of a translated text. */
  add(source: string, { text, sentences }: Translation): void {
    let rest = 0;
    for (const [start, end] of lines(source)) {
      const first = rest;
      while ((sentences[rest]?.source[0] ?? Infinity) < end) rest++;
      const own = sentences.slice(first, rest);
      const [head, last] = [own[0], own.at(-1)];
      if (head === undefined || last === undefined) continue;
      // White space around sentences is the source's.
      const from = head.target[0] - (head.source[0] - start);
      const to = last.target[1] + (end - last.source[1]);
      const line = { text: text.slice(from, to), sentences: own.map((one) => moved(one, -start, -from)) };
      this.#keep(source.slice(start, end), line);
      if (this.#bySentence && own.length > 1) this.#addSentences(source.slice(start, end), line);
    }
  }

  /** Remembers each sentence of a line, which is worth it when one is taken back or moved to a line of its own. */
  #addSentences(source: string, { text, sentences }: Translation): void {
    for (const sentence of sentences) {
      const passage = source.slice(...sentence.source);
      if (sentence.sourceTokens.length === 0 || !isContained(passage)) continue;
      this.#keep(passage, {
        text: text.slice(...sentence.target),
        sentences: [moved(sentence, -sentence.source[0], -sentence.target[0])],
      });
    }
  }

  #keep(source: string, translation: Translation): void {
    if (!this.#translations.delete(source)) this.#size += source.length;
    this.#translations.set(source, translation);
    for (const oldest of this.#translations.keys()) {
      if (this.#size <= CAPACITY) break;
      this.#translations.delete(oldest);
      this.#size -= oldest.length;
    }
  }
}

/** The ranges between line breaks, without the spaces at their ends, that aren't empty. */
export function* lines(text: string): Generator<[number, number]> {
  let start = 0;
  for (let at = 0; at <= text.length; at++) {
    if (at < text.length && !LINE_BREAK.test(text.charAt(at))) continue;
    let end = at;
    while (start < end && text.charAt(start) === ' ') start++;
    while (start < end && text.charAt(end - 1) === ' ') end--;
    if (end > start) yield [start, end];
    start = at + 1;
  }
}

/** The sentence with its ranges moved. */
export function moved(sentence: TranslatedSentence, source: number, target: number): TranslatedSentence {
  if (source === 0 && target === 0) return sentence;
  return {
    ...sentence,
    source: shifted(sentence.source, source),
    target: shifted(sentence.target, target),
    sourceTokens: movedTokens(sentence.sourceTokens, source),
    targetTokens: movedTokens(sentence.targetTokens, target),
  };
}

function movedTokens(tokens: Token[], by: number): Token[] {
  return by === 0 ? tokens : tokens.map((token) => ({ ...token, range: shifted(token.range, by) }));
}

function shifted([start, end]: [number, number], by: number): [number, number] {
  return [start + by, end + by];
}
