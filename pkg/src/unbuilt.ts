// Members of the public surface that are not built yet: each rejects, naming itself.

import { notBuilt } from './errors.js';
import type {
  AttentionRequest,
  Availability,
  Classification,
  Completion,
  CreateMonitor,
  Destroyable,
  EmbedOptions,
  Embedding,
  EncoderCallOptions,
  GenerateOptions,
  LanguageModelCreateOptions,
  LoadedInfo,
  MaskFill,
  ModelOptions,
  PageTranslation,
  PageTranslationOptions,
  Prompt,
  PromptOptions,
  TaggedTokens,
  Token,
  Transliteration,
} from './types.js';

function failing(member: string): ReadableStream<string> {
  return new ReadableStream({
    start(controller) {
      controller.error(notBuilt(member));
    },
  });
}

export async function generate(_prompt: Prompt, _options?: GenerateOptions): Promise<string> {
  throw notBuilt('generate()');
}

export function generateStreaming(_prompt: Prompt, _options?: GenerateOptions): ReadableStream<string> {
  return failing('generateStreaming()');
}

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

export class LanguageModel extends EventTarget implements LoadedInfo, Destroyable {
  declare readonly device: 'webgpu' | 'cpu';
  declare readonly deviceReason: string;
  declare readonly precision: 'float32' | 'int8';
  declare readonly contextUsage: number;
  declare readonly contextWindow: number;
  declare readonly topK: number;
  declare readonly temperature: number;
  declare oncontextoverflow: ((this: LanguageModel, event: Event) => unknown) | null;

  private constructor() {
    super();
    throw notBuilt('LanguageModel');
  }

  static async availability(_options?: LanguageModelCreateOptions): Promise<Availability> {
    throw notBuilt('LanguageModel.availability()');
  }

  static async create(_options?: LanguageModelCreateOptions): Promise<LanguageModel> {
    throw notBuilt('LanguageModel.create()');
  }

  static async params(): Promise<{
    defaultTopK: number;
    maxTopK: number;
    defaultTemperature: number;
    maxTemperature: number;
  }> {
    throw notBuilt('LanguageModel.params()');
  }

  declare prompt: (input: Prompt, options?: PromptOptions) => Promise<string>;
  declare promptStreaming: (input: Prompt, options?: PromptOptions) => ReadableStream<string>;
  declare append: (input: Prompt, options?: { signal?: AbortSignal }) => Promise<undefined>;
  declare clone: (options?: { signal?: AbortSignal }) => Promise<LanguageModel>;
  declare complete: (
    text: string,
    options?: PromptOptions & { logprobs?: boolean; attention?: AttentionRequest },
  ) => Promise<Completion>;
  declare score: (
    text: string,
    options?: { signal?: AbortSignal },
  ) => Promise<{ tokens: Token[]; logprobs: Float32Array<ArrayBuffer> }>;
  declare tokenize: (text: string) => Promise<Token[]>;
  declare detokenize: (ids: readonly number[]) => Promise<string>;
  declare measureContextUsage: (input: Prompt, options?: { signal?: AbortSignal }) => Promise<number>;
  declare destroy: () => undefined;
  declare [Symbol.asyncDispose]: () => Promise<void>;
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
