// embed(), classify(), tagTokens(), fillMask(), transliterate(): one call to a model that reads whole texts. The model stays loaded for the next call, until
// unload().

import { encoding } from './embedder.js';
import type {
  Classification,
  EmbedCallOptions,
  EmbedOptions,
  EncoderCallOptions,
  MaskFill,
  TaggedTokens,
  Transliteration,
  TransliterateOptions,
} from './types.js';

export function embed(
  text: string,
  options?: EmbedOptions & EmbedCallOptions,
): Promise<Float32Array<ArrayBuffer>>;
export function embed(
  texts: readonly string[],
  options?: EmbedOptions & EmbedCallOptions,
): Promise<Float32Array<ArrayBuffer>[]>;
/** The vector of a text, or of each text of a list, each over a buffer of its own. */
export async function embed(
  input: string | readonly string[],
  options: EmbedOptions & EmbedCallOptions = {},
): Promise<Float32Array<ArrayBuffer> & Float32Array<ArrayBuffer>[]> {
  const vectors = await (await encoding()).embedded(input, options);
  // The overloads say which of both it is.
  return vectors as Float32Array<ArrayBuffer> & Float32Array<ArrayBuffer>[];
}

/** The labels of a text, the likeliest first. */
export async function classify(
  text: string,
  options: EncoderCallOptions & { topK?: number } = {},
): Promise<Classification> {
  return (await encoding()).classified(text, options);
}

/** The entities of a text with their ranges. */
export async function tagTokens(text: string, options: EncoderCallOptions = {}): Promise<TaggedTokens> {
  return (await encoding()).tagged(text, options);
}

/** What may stand in the place of the mask token, the likeliest first. */
export async function fillMask(
  text: string,
  options: EncoderCallOptions & { topK?: number } = {},
): Promise<MaskFill> {
  return (await encoding()).filled(text, options);
}

/**
 * A word of Latin letters in another script, by default Khmer (`en-km-translit`), with what else may be meant and what each
 * letter that is written looked at.
 */
export async function transliterate(
  text: string,
  options: TransliterateOptions = {},
): Promise<Transliteration> {
  return (await encoding()).transliterated(text, options);
}
