// How a language model goes on: the caller's options, checked.

import { invalid, shown } from './errors.js';
import { reading } from './options.js';
import type { PromptOptions, SamplingOptions } from './types.js';

/** As Chrome's Prompt API has them. */
export const DEFAULTS = { topK: 3, temperature: 1 } as const;
/** Larger values count as these. */
export const LIMITS = { topK: 128, temperature: 2 } as const;

/** What each option may be: its test, and that in words. They are computed with as float32, in which 1e-300 is 0. */
const CHECKS: Record<keyof SamplingOptions, readonly [(value: number) => boolean, string]> = {
  temperature: [(value) => value >= 0 && value < Infinity, 'a number from 0 on'],
  topK: [(value) => Number.isSafeInteger(value) && value >= 0, 'a whole number from 0 on (0: all tokens)'],
  topP: [(value) => Math.fround(value) > 0 && value <= 1, 'a number above 0, at most 1'],
  minP: [(value) => value >= 0 && value <= 1, 'a number from 0 to 1'],
  repetitionPenalty: [(value) => Math.fround(value) > 0 && Math.fround(value) < Infinity, 'a number above 0'],
  seed: [(value) => Number.isSafeInteger(value) && value >= 0, 'a whole number from 0 on'],
};

export const SAMPLING_OPTIONS = Object.keys(CHECKS) as (keyof SamplingOptions)[];

/** Picks the sampling options out of `options`. */
export function samplingOf(options: SamplingOptions): SamplingOptions {
  const picked: SamplingOptions = {};
  for (const name of SAMPLING_OPTIONS) {
    const value: unknown = options[name];
    if (value === undefined) continue;
    const [isFine, expected] = CHECKS[name];
    if (typeof value !== 'number' || !isFine(value)) {
      throw invalid(name, `${expected} expected, got ${shown(value)}`);
    }
    picked[name] = name === 'topK' || name === 'temperature' ? Math.min(value, LIMITS[name]) : value;
  }
  return picked;
}

/** How one answer is written. */
export interface Call extends SamplingOptions {
  maxNewTokens?: number;
  stop?: string[];
}

/** Names of the options that every call has. */
export const CALL_OPTIONS: readonly string[] = [...SAMPLING_OPTIONS, 'maxNewTokens', 'stop', 'signal'];

/** Picks what one answer needs out of `options`. */
export function callOf(options: PromptOptions): Call {
  const call: Call = samplingOf(options);
  const { maxNewTokens, stop } = options;
  if (maxNewTokens !== undefined) {
    if (!Number.isSafeInteger(maxNewTokens) || maxNewTokens < 1) {
      throw invalid('maxNewTokens', `a whole number above 0 expected, got ${shown(maxNewTokens)}`);
    }
    call.maxNewTokens = maxNewTokens;
  }
  if (stop !== undefined) {
    const given: unknown = stop;
    const texts = reading('stop', () => (Array.isArray(given) ? Array.from(given as unknown[]) : undefined));
    if (texts?.every((text) => typeof text === 'string' && text !== '') !== true) {
      throw invalid('stop', 'a list of texts expected, none of them empty');
    }
    call.stop = texts as string[];
  }
  return call;
}
