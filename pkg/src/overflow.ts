// What happens to a conversation that the context window has no room for.

import type { Turn } from './chat.js';
import type { ErrorMessage } from './errors.js';

/** The turns without the oldest question and its answers; undefined where only the first `initial` are left, which stay. */
export function withoutOldest(turns: readonly Turn[], initial: number): Turn[] | undefined {
  if (turns.length <= initial) return undefined;
  let end = initial + 1;
  while (end < turns.length && turns[end]?.role !== 'user') end++;
  return [...turns.slice(0, initial), ...turns.slice(end)];
}

/** A prompt that does not fit, though nothing is left that could be left out. */
export function tooLarge(requested: number, quota: number): Error & ErrorMessage {
  const message = `the input has ${requested} tokens, what always comes first included; the context window has ${quota}, and an answer needs room in it. Shorten the input`;
  const facts: Omit<ErrorMessage, 'message'> = {
    code: 'invalid-argument',
    option: 'input',
    quota: { requested, quota },
  };
  return Object.assign(new Error(message), facts);
}
