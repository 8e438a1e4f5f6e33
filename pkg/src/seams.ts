// What a change to a text leaves as it was: the sentences before and behind it whose borders it can't move.
//
// The engine decides where sentences end, and a border depends on little: the last words before it, the first word
// behind it, and on brackets, back-ticks, braces and tags that hold several sentences together. A border is trusted
// only where none of that has changed; when in doubt, more is translated again.

import { isContained, LINE_BREAK } from './contained.js';
import type { TranslatedSentence } from './types.js';

/** The stretch to translate again, as UTF-16 offsets. What lies before and behind it is the same in both texts. */
export interface Change {
  /** Sentences before it, and the first of those behind it. */
  first: number;
  next: number;
  /** Where it starts in both texts, and where it ends in each. */
  start: number;
  oldEnd: number;
  newEnd: number;
}

const STOP = /[\p{Sentence_Terminal}…]/u;

/** A sentence of this many tokens may be a piece of a longer one, which was cut for the model. */
const MAYBE_CUT = 40;
/** The same in characters, for what was passed through. */
const MAYBE_CUT_CHARACTERS = 60;

/** A translated text, and whether its sentences may be trusted to end within lines (`direct`). */
export interface Before {
  source: string;
  sentences: readonly TranslatedSentence[];
  direct: boolean;
}

/**
 * What has to be translated again when the text before becomes `after`. Through another language (not `direct`), only
 * line breaks are trusted: the second model sees other words, and may join what the first took apart.
 */
export function changeOf(last: Before, after: string): Change {
  const { source: before, sentences } = last;
  const count = sentences.length;
  const everything = { first: 0, next: count, start: 0, oldEnd: before.length, newEnd: after.length };
  if (!isContained(before) || !isContained(after)) return everything;
  const same = commonPrefix(before, after);
  const editEnd = before.length - commonSuffix(before, after, same);
  const growth = after.length - before.length;

  let first = count - 1;
  while (first > 0 && !holdsBefore(last, first, same)) first--;
  if (first <= 0) first = 0;
  const start = first === 0 ? 0 : startOf(sentences, first);

  let next = first + 1;
  while (next < count) {
    const end = startOf(sentences, next);
    if (
      holdsBehind(last, next, editEnd, after.slice(start)) &&
      isContained(before.slice(start, end)) &&
      isContained(after.slice(start, end + growth)) &&
      isContained(before.slice(end))
    ) {
      return { first, next, start, oldEnd: end, newEnd: end + growth };
    }
    next++;
  }
  return { ...everything, first, start };
}

function startOf(sentences: readonly TranslatedSentence[], index: number): number {
  return sentences[index]?.source[0] ?? 0;
}

/** Whether sentence `index` still starts where it did if the text is the same up to `same`. */
function holdsBefore({ source: text, sentences, direct }: Before, index: number, same: number): boolean {
  const start = startOf(sentences, index);
  const end = sentences[index - 1]?.source[1] ?? start;
  if (start > same || end >= start) return false;
  if (LINE_BREAK.test(text.slice(end, start))) return true;
  if (!direct) return false;
  // The first word behind a stop, and the character after it, decide whether a sentence can start there.
  const word = /^[^\p{Alphabetic}\p{N}]*[\p{Alphabetic}\p{N}'’]*.?/su.exec(text.slice(start));
  return (
    start + (word?.[0].length ?? 0) <= same &&
    isBorder(text, sentences, index) &&
    isContained(text.slice(0, start))
  );
}

/** Whether sentence `index` still starts where it did if the text is the same from `editEnd`, and now ends like `rest`. */
function holdsBehind(
  { source: text, sentences, direct }: Before,
  index: number,
  editEnd: number,
  rest: string,
): boolean {
  const start = startOf(sentences, index);
  const [from, end] = sentences[index - 1]?.source ?? [0, start];
  if (end >= start) return false;
  if (LINE_BREAK.test(text.slice(Math.max(end, editEnd), start))) return true;
  if (!direct) return false;
  // The word before the stop, whether it is the first of its sentence, and whether the one before it ends in a stop
  // too, as in a row of initials: no rule looks farther back.
  const word = /(?<=\s)\S*[\p{Alphabetic}\p{N}][^\p{Alphabetic}\p{N}]*$/u.exec(text.slice(from, end));
  if (word === null || from + word.index < editEnd || STOP.test(withoutEnd(word[0]))) return false;
  const lead = /(\S+)(\s+)$/u.exec(rest.slice(0, from + word.index - text.length));
  if (lead === null || STOP.test(lead[1] ?? '') || LINE_BREAK.test(lead[2] ?? '')) return false;
  return isBorder(text, sentences, index);
}

function withoutEnd(word: string): string {
  return word.replace(/[^\p{Alphabetic}\p{N}]+$/u, '');
}

/** Whether a sentence ends before sentence `index`, rather than a piece of one that was too long. */
function isBorder(text: string, sentences: readonly TranslatedSentence[], index: number): boolean {
  const before = sentences[index - 1];
  if (before === undefined) return false;
  const passage = text.slice(...before.source);
  if (!/[\p{Sentence_Terminal}…][^\p{Alphabetic}\s]*$/u.test(passage)) return false;
  const tokens = before.sourceTokens.length;
  return tokens === 0 ? passage.length < MAYBE_CUT_CHARACTERS : tokens < MAYBE_CUT;
}

function commonPrefix(a: string, b: string): number {
  const limit = Math.min(a.length, b.length);
  let at = 0;
  while (at < limit && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  return at;
}

function commonSuffix(a: string, b: string, prefix: number): number {
  const limit = Math.min(a.length, b.length) - prefix;
  let count = 0;
  while (count < limit && a.charCodeAt(a.length - 1 - count) === b.charCodeAt(b.length - 1 - count)) count++;
  return count;
}
