// Checks of the caller's options: no unknown own name is ignored, and names of other libraries are answered with ours.

import { invalid, notBuilt, reasonOf, shown } from './errors.js';
import { threadsFor } from './threads.js';
import type { DecodingOptions, Device, ModelOptions, Precision } from './types.js';

/** What other libraries call our options. */
const OURS: Readonly<Record<string, string>> = {
  dtype: 'precision',
  quantized: 'precision',
  quantize: 'precision',
  src_lang: 'from',
  source: 'from',
  sourceLang: 'from',
  tgt_lang: 'to',
  target: 'to',
  targetLang: 'to',
  num_beams: 'beamSize',
  beam_size: 'beamSize',
  length_penalty: 'lengthPenalty',
  max_new_tokens: 'maxNewTokens',
  max_tokens: 'maxNewTokens',
  max_length: 'maxNewTokens',
  maxTokens: 'maxNewTokens',
  max_completion_tokens: 'maxNewTokens',
  maxOutputTokens: 'maxNewTokens',
  num_predict: 'maxNewTokens',
  nPredict: 'maxNewTokens',
  n_predict: 'maxNewTokens',
  do_sample: 'temperature',
  temp: 'temperature',
  top_k: 'topK',
  topk: 'topK',
  top_p: 'topP',
  min_p: 'minP',
  repetition_penalty: 'repetitionPenalty',
  penalty_repeat: 'repetitionPenalty',
  stop_strings: 'stop',
  stop_sequences: 'stop',
  stopSequences: 'stop',
  n_ctx: 'contextWindow',
  num_ctx: 'contextWindow',
  context_window_size: 'contextWindow',
  systemPrompt: 'initialPrompts',
  system: 'initialPrompts',
  progress_callback: 'monitor',
  onProgress: 'monitor',
  numThreads: 'threads',
  n_threads: 'threads',
  modelId: 'model',
  normalize_embeddings: 'normalize',
  pooling_mode: 'pooling',
  truncation: 'tooLong',
};

const DEVICES: Readonly<Record<string, string>> = { wasm: 'cpu', gpu: 'webgpu' };

// Records, so that the compiler asks for the name of an option that is added to the types.
const MODEL: Record<keyof ModelOptions, true> = {
  model: true,
  device: true,
  precision: true,
  threads: true,
  signal: true,
  monitor: true,
};
const DECODING: Record<keyof DecodingOptions, true> = {
  beamSize: true,
  lengthPenalty: true,
  wordPenalty: true,
  maxLengthFactor: true,
};

export const MODEL_OPTIONS: readonly string[] = Object.keys(MODEL);
export const DECODING_OPTIONS = Object.keys(DECODING) as (keyof DecodingOptions)[];

/**
 * The caller's options, each read once: a getter may answer otherwise the next time, or throw. Every own name must be
 * among `allowed`; what somebody has put on Object.prototype is nobody's option. One that is undefined is left out.
 */
export function read<T extends object>(options: T, allowed: readonly string[], place: string): T {
  const given: unknown = options;
  if (typeof given !== 'object' || given === null) {
    throw invalid('options', `${place} takes an object, got ${given === null ? 'null' : typeof given}`);
  }
  for (const name of reading('options', () => Object.keys(given))) {
    if (allowed.includes(name)) continue;
    const ours = Object.hasOwn(OURS, name) ? OURS[name] : undefined;
    const known =
      ours !== undefined && allowed.includes(ours)
        ? `it is called ${ours} here`
        : `it has ${allowed.join(', ')}`;
    throw invalid(name, `${place} has no such option; ${known}`);
  }
  const taken = Object.create(null) as Record<string, unknown>;
  for (const name of allowed) {
    const value = reading(name, () => memberOf(given, name));
    if (value !== undefined) taken[name] = value;
  }
  return taken as T;
}

/** A member of an object of the caller's, read once; what somebody has put on Object.prototype is nobody's. */
export function memberOf(given: object, name: string): unknown {
  const isOwn = Object.hasOwn(given, name);
  const value: unknown = Reflect.get(given, name);
  return isOwn || value !== Reflect.get(Object.prototype, name) ? value : undefined;
}

/** Reads something of the caller's. */
export function reading<T>(option: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw invalid(option, `it cannot be read: ${reasonOf(cause)}`, cause);
  }
}

/** How a model is computed. */
export interface Computing {
  device: Device;
  precision: Precision;
  threads: number;
  /** Of a language model, if it is not 'float'. */
  kvCache?: 'int8';
}

/** The options that every way of loading a model has in common. */
export function checkModelOptions({ device, precision, threads, signal, monitor }: ModelOptions): Computing {
  if (device !== undefined && device !== 'auto' && device !== 'cpu' && device !== 'webgpu') {
    const name: unknown = device;
    const ours = typeof name === 'string' && Object.hasOwn(DEVICES, name) ? DEVICES[name] : undefined;
    const known = ours === undefined ? "'auto', 'webgpu' or 'cpu'" : `'${ours}' here`;
    throw invalid('device', `${known}, got ${shown(device)}`);
  }
  if (precision !== undefined && precision !== 'auto' && precision !== 'float32' && precision !== 'int8') {
    throw invalid('precision', `'auto', 'float32' or 'int8', got ${shown(precision)}`);
  }
  if (threads !== undefined && threads !== 'auto') {
    if (!Number.isInteger(threads) || threads < 1) {
      throw invalid('threads', `'auto' or a whole number above 0, got ${shown(threads)}`);
    }
  }
  if (device === 'webgpu' && precision === 'int8') {
    throw invalid('precision', "a GPU computes with float32; leave it out, or say device: 'cpu'");
  }
  checkSignal(signal);
  if (monitor !== undefined && typeof monitor !== 'function') throw invalid('monitor', 'a function expected');
  return { device: device ?? 'auto', precision: precision ?? 'auto', threads: threadsFor(threads ?? 'auto') };
}

export function checkSignal(signal: AbortSignal | undefined): void {
  const given: unknown = signal;
  if (given === undefined) return;
  // A revoked proxy cannot even be asked whether it is one; another proxy of one tells nothing more.
  const one = reading('signal', () => (given instanceof AbortSignal ? given : undefined));
  if (one === undefined) throw invalid('signal', 'an AbortSignal expected');
  if (reading('signal', () => one.aborted)) throw one.reason as Error;
}

/** Picks the decoding options out of `options`; their values are checked where they are used. */
export function decodingOf(options: DecodingOptions): DecodingOptions {
  const picked: DecodingOptions = {};
  for (const name of DECODING_OPTIONS) {
    const value = options[name];
    if (value === undefined) continue;
    if (typeof value !== 'number') throw invalid(name, `a number expected, got ${shown(value)}`);
    picked[name] = value;
  }
  return picked;
}

export function checkHtml(html: boolean | undefined): void {
  if (html !== undefined && typeof html !== 'boolean') throw invalid('html', 'true or false expected');
  if (html === true) throw notBuilt('html: true');
}

export function checkText(text: unknown, name = 'text'): asserts text is string {
  if (typeof text !== 'string')
    throw invalid(name, `a string expected, got ${text === null ? 'null' : typeof text}`);
}
