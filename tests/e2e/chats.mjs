// What SmolLM2 answers by float32 arithmetic, as transformers has computed it.

import { readFileSync } from 'node:fs';

const FIXTURE = new URL('../fixtures/decoders/smollm2.json', import.meta.url);

/**
 * A question, the tokens of its prompt, those of the greedy answer, and by how much the next best of each was worse.
 * @typedef {{ prompt: string, ids: number[], greedy: number[], margins: number[] }} Chat
 */

export const { chats: CHATS } = /** @type {{ chats: Chat[] }} */ (JSON.parse(readFileSync(FIXTURE, 'utf8')));

/** Margin, in nats, below which int8 arithmetic may choose another token. */
const UNDECIDED = 0.4;

/**
 * Why a greedy answer is not that of float32 arithmetic, if it is not, up to where that is nearly undecided.
 * `beginnings` are the texts of the first so many tokens of the reference.
 * @param {Chat} chat @param {string} answer @param {readonly string[]} beginnings
 */
export function fault({ prompt, margins }, answer, beginnings) {
  const same = beginnings.findLastIndex((text) => answer.startsWith(text)) + 1;
  if (answer === (beginnings[same - 1] ?? '')) return undefined;
  const margin = margins[same] ?? Infinity;
  return margin < UNDECIDED ? undefined : `${prompt}: ${answer}, not ${beginnings.at(-1)} (margin ${margin})`;
}
