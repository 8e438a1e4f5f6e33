// What calls to encoders may be given, checked.

import { attentionOf } from './attention.js';
import { invalid, shown, tell } from './errors.js';
import { checkText, MODEL_OPTIONS, reading } from './options.js';
import type { BeamMessage, HeadAsk, HeadMessage, PoolingMessage } from './protocol.js';
import type { AttentionRequest, EmbedOptions, EmbedProgress } from './types.js';

const POOLING = ['pooling', 'normalize', 'tooLong'] as const;

/** Names of the options of calls with many texts. */
export const CALL = ['signal', 'onProgress'];
export const CREATE = [...MODEL_OPTIONS, ...POOLING];
export const EMBED = [...CREATE, 'onProgress'];
export const TAG = [...MODEL_OPTIONS, 'tooLong', 'attention'];
export const HEAD = [...TAG, 'topK'];
export const BEAM = [...MODEL_OPTIONS, 'beamSize', 'candidates', 'attention'];

/** Most hypotheses of a search. */
const WIDEST = 64;

/** What other libraries can ask for, and what comes nearest here. */
const OTHER_POOLINGS: Readonly<Record<string, string>> = {
  none: "; vectors of single tokens are not given, and a pooling that is left out is the model's own",
  first_token: "; the first token's vector is 'cls' here",
};

/** Picks how texts become vectors out of `options`. */
export function poolingOf({ pooling, normalize, tooLong }: EmbedOptions): PoolingMessage {
  const known: unknown = pooling;
  if (pooling !== undefined && pooling !== 'mean' && pooling !== 'cls' && pooling !== 'max') {
    const more =
      typeof known === 'string' && Object.hasOwn(OTHER_POOLINGS, known) ? OTHER_POOLINGS[known] : '';
    throw invalid('pooling', `'mean', 'cls' or 'max' expected, got ${shown(known)}${more}`);
  }
  if (normalize !== undefined && typeof normalize !== 'boolean') {
    throw invalid('normalize', `true or false expected, got ${shown(normalize)}`);
  }
  return {
    ...(pooling === undefined ? {} : { pooling }),
    ...(normalize === undefined ? {} : { normalize }),
    ...tooLongOf(tooLong),
  };
}

/** Picks what a head needs out of `options`, and the attention that is wanted. */
export function headOf({
  topK,
  tooLong,
  attention,
}: HeadMessage & { attention?: AttentionRequest }): Pick<HeadAsk, 'options' | 'attention'> {
  if (topK !== undefined && (!Number.isSafeInteger(topK) || topK < 1)) {
    throw invalid('topK', `a whole number above 0 expected, got ${shown(topK)}`);
  }
  const options = { ...(topK === undefined ? {} : { topK }), ...tooLongOf(tooLong) };
  return { options, attention: attentionOf(attention) };
}

/** Picks how a transliteration is searched for out of `options`. */
export function beamOf({ beamSize, candidates }: BeamMessage): BeamMessage {
  for (const [name, value, most] of [
    ['beamSize', beamSize, WIDEST],
    ['candidates', candidates, Number.MAX_SAFE_INTEGER],
  ] as const) {
    if (value !== undefined && (!Number.isSafeInteger(value) || value < 1 || value > most)) {
      const limit = most === WIDEST ? `from 1 to ${WIDEST}` : 'above 0';
      throw invalid(name, `a whole number ${limit} expected, got ${shown(value)}`);
    }
  }
  return {
    ...(beamSize === undefined ? {} : { beamSize }),
    ...(candidates === undefined ? {} : { candidates }),
  };
}

function tooLongOf(tooLong: PoolingMessage['tooLong']): Pick<PoolingMessage, 'tooLong'> {
  if (tooLong === undefined) return {};
  if (tooLong !== 'truncate' && tooLong !== 'error') {
    throw invalid('tooLong', `'truncate' or 'error' expected, got ${shown(tooLong)}`);
  }
  return { tooLong };
}

/** The texts of a list; one that is no text is named by its place. */
export function textsOf(input: unknown): string[] {
  const list = reading('texts', () => (Array.isArray(input) ? Array.from(input as unknown[]) : undefined));
  if (list === undefined) throw invalid('texts', `a list of texts expected, got ${shown(input)}`);
  return list.map((text, place) => {
    checkText(text, `texts[${place}]`);
    return text;
  });
}

/** The caller's listener, to be told how many texts of all are done. */
export function reporting(
  onProgress: ((progress: EmbedProgress) => void) | undefined,
): ((done: number, total: number) => void) | undefined {
  if (onProgress === undefined) return undefined;
  if (typeof onProgress !== 'function') {
    throw invalid('onProgress', `a function expected, got ${shown(onProgress)}`);
  }
  return (done, total) => {
    tell(onProgress, { done, total });
  };
}
