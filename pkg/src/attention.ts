// The option `attention`: its check, and what goes to the worker and comes back.

import { invalid, MultiheadError, shown } from './errors.js';
import { memberOf, reading } from './options.js';
import type { AttentionMessage } from './protocol.js';

const KINDS: readonly unknown[] = ['encoder', 'decoder', 'cross'];
const LISTS = ['layers', 'heads', 'kinds'];

/** Bytes that the attention weights of a call's texts may take, as in src/tasks/attention.rs. */
const MOST_BYTES = 256 * 2 ** 20;

/** Throws where the weights of a call's texts, of `what` if that is not all, take more than they may. */
export function checkRoom(bytes: number, what = ''): void {
  if (bytes <= MOST_BYTES) return;
  throw new MultiheadError(
    `attention: takes ${bytes} bytes${what}. Ask for fewer layers or heads, or of less text`,
    { code: 'out-of-memory', option: 'attention' },
  );
}

/** What is wanted, in numbers; undefined for nothing. Whether the model has it is found where the model is. */
export function attentionOf(request: unknown): AttentionMessage | undefined {
  if (request === undefined || request === false) return undefined;
  if (request === true) return { kinds: 0, layers: [], heads: [] };
  if (typeof request !== 'object' || request === null) {
    throw invalid('attention', `true, false or { layers, heads, kinds } expected, got ${shown(request)}`);
  }
  const other = reading('attention', () => Object.keys(request)).find((name) => !LISTS.includes(name));
  if (other !== undefined) throw invalid('attention', `it has no ${other}, but ${LISTS.join(', ')}`);
  const kinds = listOf(request, 'kinds', "'encoder', 'decoder', 'cross'", (kind) => KINDS.includes(kind));
  return {
    kinds: kinds.reduce<number>((bits, kind) => bits | (1 << KINDS.indexOf(kind)), 0),
    layers: listOf(request, 'layers', 'whole numbers from 0 on', isIndex) as number[],
    heads: listOf(request, 'heads', 'whole numbers from 0 on', isIndex) as number[],
  };
}

/** A list of the request's, empty where it is left out. */
function listOf(request: object, name: string, what: string, fits: (one: unknown) => boolean): unknown[] {
  const given = reading('attention', () => {
    const list = memberOf(request, name);
    return Array.isArray(list) ? Array.from(list as unknown[]) : list;
  });
  if (given === undefined) return [];
  if (!Array.isArray(given) || given.length === 0 || !given.every(fits)) {
    throw invalid('attention', `${name}: a list with ${what} expected; leave it out for all`);
  }
  if (new Set(given).size < given.length) throw invalid('attention', `${name}: one of them is there twice`);
  return given;
}

function isIndex(index: unknown): boolean {
  return typeof index === 'number' && Number.isInteger(index) && index >= 0 && index < 2 ** 32;
}
