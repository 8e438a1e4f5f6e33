// Members of the public surface that are not built yet: each rejects, naming itself.

import { notBuilt } from './errors.js';
import type {
  AttentionRequest,
  Availability,
  Classification,
  CreateMonitor,
  Destroyable,
  EmbedOptions,
  Embedding,
  EncoderCallOptions,
  LoadedInfo,
  MaskFill,
  ModelOptions,
  PageTranslation,
  PageTranslationOptions,
  TaggedTokens,
  Token,
  Transliteration,
} from './types.js';

export function embed(text: string, options?: EmbedOptions): Promise<Float32Array<ArrayBuffer>>;
export function embed(texts: readonly string[], options?: EmbedOptions): Promise<Float32Array<ArrayBuffer>[]>;
export async function embed(
  _input: string | readonly string[],
  _options?: EmbedOptions,
): Promise<Float32Array<ArrayBuffer> & Float32Array<ArrayBuffer>[]> {
  throw notBuilt('embed()');
}

export async function classify(
  _text: string,
  _options?: EncoderCallOptions & { topK?: number },
): Promise<Classification> {
  throw notBuilt('classify()');
}

export async function tagTokens(_text: string, _options?: EncoderCallOptions): Promise<TaggedTokens> {
  throw notBuilt('tagTokens()');
}

export async function fillMask(
  _text: string,
  _options?: EncoderCallOptions & { topK?: number },
): Promise<MaskFill> {
  throw notBuilt('fillMask()');
}

export async function transliterate(
  _text: string,
  _options?: ModelOptions & { beamSize?: number; candidates?: number },
): Promise<Transliteration> {
  throw notBuilt('transliterate()');
}

export async function translateElement(
  _root: Element | ShadowRoot | Document,
  _options: PageTranslationOptions,
): Promise<PageTranslation> {
  throw notBuilt('translateElement()');
}

export function installPolyfill(_options?: { force?: boolean }): string[] {
  throw notBuilt('installPolyfill()');
}

export class Embedder implements LoadedInfo, Destroyable {
  declare readonly device: 'webgpu' | 'cpu';
  declare readonly deviceReason: string;
  declare readonly precision: 'float32' | 'int8';
  declare readonly dimensions: number;
  declare readonly maxTokens: number;

  private constructor() {
    throw notBuilt('Embedder');
  }

  static async availability(_options?: ModelOptions): Promise<Availability> {
    throw notBuilt('Embedder.availability()');
  }

  static async create(_options?: EmbedOptions): Promise<Embedder> {
    throw notBuilt('Embedder.create()');
  }

  declare embed: {
    (text: string, options?: { signal?: AbortSignal }): Promise<Float32Array<ArrayBuffer>>;
    (texts: readonly string[], options?: { signal?: AbortSignal }): Promise<Float32Array<ArrayBuffer>[]>;
  };
  declare embedDetailed: (
    texts: readonly string[],
    options?: { signal?: AbortSignal; attention?: AttentionRequest },
  ) => Promise<Embedding[]>;
  declare tokenize: (text: string) => Promise<Token[]>;
  declare destroy: () => undefined;
  declare [Symbol.asyncDispose]: () => Promise<void>;
}

export class LanguageDetector implements Destroyable {
  declare readonly expectedInputLanguages: readonly string[] | null;
  declare readonly inputQuota: number;

  private constructor() {
    throw notBuilt('LanguageDetector');
  }

  static async availability(_options?: {
    expectedInputLanguages?: readonly string[];
  }): Promise<Availability> {
    throw notBuilt('LanguageDetector.availability()');
  }

  static async create(_options?: {
    expectedInputLanguages?: readonly string[];
    signal?: AbortSignal;
    monitor?: (monitor: CreateMonitor) => void;
  }): Promise<LanguageDetector> {
    throw notBuilt('LanguageDetector.create()');
  }

  declare detect: (
    input: string,
    options?: { signal?: AbortSignal },
  ) => Promise<{ detectedLanguage: string; confidence: number }[]>;
  declare measureInputUsage: (input: string, options?: { signal?: AbortSignal }) => Promise<number>;
  declare destroy: () => undefined;
  declare [Symbol.asyncDispose]: () => Promise<void>;
}
