// What a caller says, to the turns of a chat.

import type { Turn } from './chat.js';
import { invalid, shown } from './errors.js';
import { memberOf, reading } from './options.js';
import type { Prompt } from './types.js';

const ROLES: ReadonlySet<unknown> = new Set(['system', 'user', 'assistant']);

/** The turns of a prompt: a string is what the user says. `option` is what the caller knows it by. */
export function turnsOf(prompt: Prompt, option = 'input'): Turn[] {
  const given: unknown = prompt;
  if (typeof given === 'string') return [{ role: 'user', content: given, prefix: false }];
  const messages = listOf(given, option);
  if (messages === undefined || messages.length === 0) {
    throw invalid(option, `a text or a list of messages expected, got ${shown(given)}`);
  }
  return messages.map((message, place): Turn => {
    const wrong = (what: string): Error => invalid(option, `message ${place}: ${what}`);
    if (typeof message !== 'object' || message === null) {
      throw wrong(`{ role, content } expected, got ${shown(message)}`);
    }
    const { role, content, prefix } = reading(option, () => {
      const [who, what, isPrefix] = ['role', 'content', 'prefix'].map((name) => memberOf(message, name));
      return { role: who, content: what, prefix: isPrefix };
    });
    if (!ROLES.has(role)) throw wrong(`role is 'system', 'user' or 'assistant', got ${shown(role)}`);
    if (prefix !== undefined && typeof prefix !== 'boolean') throw wrong('prefix is true or false');
    if (prefix === true && (role !== 'assistant' || place !== messages.length - 1)) {
      throw wrong('prefix is for the last message, of the assistant');
    }
    const text = typeof content === 'string' ? content : textOf(listOf(content, option), option, wrong);
    return { role: role as Turn['role'], content: text, prefix: prefix === true };
  });
}

/** As {@link turnsOf}, for what no answer comes after at once. */
export function turnsBefore(prompt: Prompt, option = 'input'): Turn[] {
  const turns = turnsOf(prompt, option);
  if (turns.at(-1)?.prefix === true)
    throw invalid(option, 'prefix is for prompt(), whose answer goes on from it');
  return turns;
}

/** A copy of a list, read once; a hole in it is undefined. */
function listOf(value: unknown, option: string): unknown[] | undefined {
  return reading(option, () => (Array.isArray(value) ? Array.from(value as readonly unknown[]) : undefined));
}

function textOf(
  content: readonly unknown[] | undefined,
  option: string,
  wrong: (what: string) => Error,
): string {
  if (content === undefined) throw wrong('content is a text, or a list of parts');
  return content
    .map((part) => {
      const { type, value } = reading(option, () => {
        const [kind, text] = ['type', 'value'].map((name) => memberOf(Object(part) as object, name));
        return { type: kind, value: text };
      });
      if (type !== 'text' || typeof value !== 'string') {
        throw wrong("content has parts { type: 'text', value } only");
      }
      return value;
    })
    .join('');
}
