// The types of the public surface. Ranges are UTF-16 offsets, [start, end).
// Typed arrays are declared over ArrayBuffer, so that results fit Blob, IndexedDB and WebGPU.

/**
 * "en-pt" (an id of the index), the URL of a folder (ends in "/") or of one file, a name on Hugging Face
 * ("owner/name", "owner/name:Q8_0", "owner/name@revision:file.gguf"), or files by name.
 * A Blob is read by ranges; an ArrayBuffer is copied, never detached.
 */
export type ModelSource = string | URL | { files: Record<string, string | URL | Blob | ArrayBuffer> };
/**
 * Where a model computes. 'auto': on a GPU that is none of software where the model gains from it; translation on the CPU.
 * 'webgpu': on whatever adapter the browser has, and on the CPU without one. 'cpu' touches no GPU.
 */
export type Device = 'auto' | 'webgpu' | 'cpu';
/** Arithmetic of the matrix products. 'auto': int8 where the weights are quantised, else float32. A GPU computes with float32. */
export type Precision = 'auto' | 'float32' | 'int8';
export type Availability = 'unavailable' | 'downloadable' | 'downloading' | 'available';

/** `loaded` runs from 0 to `total` over all files of the model together. */
export interface DownloadProgressEvent extends Event {
  readonly loaded: number;
  readonly total: number;
  readonly lengthComputable: boolean;
}
export interface CreateMonitor extends EventTarget {
  ondownloadprogress: ((this: CreateMonitor, event: DownloadProgressEvent) => unknown) | null;
  addEventListener(
    type: 'downloadprogress',
    listener: (this: CreateMonitor, event: DownloadProgressEvent) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject,
    options?: boolean | AddEventListenerOptions,
  ): void;
}
export interface ModelOptions {
  model?: ModelSource;
  device?: Device;
  precision?: Precision;
  threads?: number | 'auto';
  signal?: AbortSignal;
  monitor?: (monitor: CreateMonitor) => void;
}
export interface Configuration {
  /** Folder of the model index (`index.json`) and of the models' folders. Default: "/models/" of the page's origin. */
  modelBase?: string | URL;
  /** Folder of the `.wasm` files, where a bundler has moved them away from the scripts. */
  wasmBase?: string | URL;
  /**
   * The script of the worker that translates, where a bundler has moved it away from the package; those of language
   * models, of encoders and of GPUs lie beside it, under the names `text-worker.js`, `encoder-worker.js` and `gpu-worker.js`.
   */
  workerUrl?: string | URL;
  /** 'none' keeps no model between visits. */
  cache?: 'default' | 'none';
  /** Bytes of WebAssembly memory that models may take together. */
  memoryLimit?: number;
  fetch?: typeof fetch;
}
/** How a model computes now: one whose GPU is lost may go on elsewhere. */
export interface LoadedInfo {
  readonly device: 'webgpu' | 'cpu';
  /** Its name or what it computes with, and why there, for people. */
  readonly deviceReason: string;
  readonly precision: Exclude<Precision, 'auto'>;
}
export interface Destroyable {
  destroy(): undefined;
  [Symbol.asyncDispose](): Promise<void>;
}

// ---- translation

export interface DecodingOptions {
  /** Hypotheses kept at each step; 1 is greedy. */
  beamSize?: number;
  /** Exponent α of the length normalisation score / lengthᵅ. */
  lengthPenalty?: number;
  /** Cost of each token. */
  wordPenalty?: number;
  /** Longest output, as a multiple of the source's tokens. */
  maxLengthFactor?: number;
}
export interface TranslateOptions extends ModelOptions, DecodingOptions {
  from?: string;
  to: string;
  html?: boolean;
}
export interface TranslatorCreateCoreOptions {
  sourceLanguage: string;
  targetLanguage: string;
}
export interface TranslatorCreateOptions extends TranslatorCreateCoreOptions, ModelOptions, DecodingOptions {}
export interface TranslateCallOptions {
  signal?: AbortSignal;
  html?: boolean;
}
export interface Translation {
  text: string;
  sentences: TranslatedSentence[];
}
export interface TranslatedSentence {
  source: [number, number];
  target: [number, number];
  /**
   * Without the end token, whose column and row are the last of `alignment` (its range is empty).
   * Empty where text was passed through.
   */
  sourceTokens: Token[];
  targetTokens: Token[];
  /**
   * One row per target token, one column per source token, each with the end token's last; rows sum to 1.
   * Through English it is the product of both models' alignments.
   */
  alignment: Float32Array<ArrayBuffer>;
  score: number;
  /**
   * Where it was asked for and the sentence was not passed through. Queries of 'decoder' and 'cross' are what is written, the
   * end token last; keys of 'decoder' what is read: nothing (a token without text), then all that is written but the end. A
   * recurrent decoder has no kind 'decoder'. Of one model: through English it is a NotSupportedError.
   */
  attention?: Attention;
}
export interface Token {
  id: number;
  text: string;
  range: [number, number];
}

// ---- attention

/**
 * Which attention weights are wanted: `true` for all that the model has, or of these layers and heads, counted from 0, and
 * of these kinds; what is left out stands for all. What the model does not have is an error, 'invalid-argument'. The
 * weights of all texts of a call, of all sentences of a translation, may take 256 MiB, four bytes each; more is the error
 * 'out-of-memory': for a single text before any of them is computed, for a list of `embedDetailed()`, whose texts are read one
 * after the other, once those read so far take more. No answer of a language model is lost for it: the prompt must have
 * room, and of a longer answer the first tokens are looked at that have room.
 */
export type AttentionRequest =
  | boolean
  | {
      layers?: readonly number[];
      heads?: readonly number[];
      kinds?: readonly ('encoder' | 'decoder' | 'cross')[];
    };
export interface AttentionWeights {
  /**
   * [layers, heads, queryLen, keyLen], row-major, over a buffer of its own: each row is a softmax. It sums to 1 over the
   * keys that the query sees, and is exactly 0 on those that a mask hides from it.
   */
  weights: Float32Array<ArrayBuffer>;
  /** Which layers and heads those are, in the order asked for. */
  layers: number[];
  heads: number[];
  queryLen: number;
  keyLen: number;
  /** `queryLen` of them, and `keyLen`, marks included, whose text is their name and whose range is empty. */
  queryTokens: Token[];
  keyTokens: Token[];
}
/** By kind, without those that were not asked for or that the model lacks. */
export interface Attention {
  /** Tokens of the text, or the source, at each other. */
  encoder?: AttentionWeights;
  /** Tokens that are read and written at those before them. */
  decoder?: AttentionWeights;
  /** Tokens that are written at those of the source. */
  cross?: AttentionWeights;
}

// ---- language models

export interface TextPart {
  type: 'text';
  value: string;
}
export interface ChatMessage {
  role: 'system' | 'user' | 'assistant';
  content: string | TextPart[];
  /** Of the last message, the assistant's: the answer goes on from it. */
  prefix?: boolean;
}
/** A text is what the user says. */
export type Prompt = string | ChatMessage[];
/** How the next token is drawn. The steps come in the order of these options. */
export interface SamplingOptions {
  /** Logits are divided by it; 0: always the likeliest token. Default 1; above 2 it counts as 2. */
  temperature?: number;
  /** So many likeliest tokens stay; 0: all. Default 3; above 128 it counts as 128. */
  topK?: number;
  /** The likeliest tokens stay that together have this probability. Default 1: all. */
  topP?: number;
  /** Tokens stay that have this share of the likeliest one's probability. Default 0: all. */
  minP?: number;
  /** Before all that: logits of tokens that are there already are divided by it (multiplied, below 0). Default 1. */
  repetitionPenalty?: number;
  /** Start of the random numbers: the same one gives the same text. Default: another one each time. */
  seed?: number;
}
export interface PromptOptions extends SamplingOptions {
  /** Most tokens of the answer. Default: as many as the window has room for. */
  maxNewTokens?: number;
  /** Texts that end the answer, and are no part of it. */
  stop?: readonly string[];
  signal?: AbortSignal;
}
export interface GenerateOptions extends ModelOptions, PromptOptions {}
export interface LanguageModelCreateOptions extends ModelOptions, SamplingOptions {
  /** What the conversation begins with; it stays where other turns are left out. */
  initialPrompts?: ChatMessage[];
  /** Most tokens of the conversation. Default: as many as the model was trained for. */
  contextWindow?: number;
  /** How what was read is kept: 'int8' takes about a quarter of the memory, and is less exact. Default 'float'. */
  kvCache?: 'float' | 'int8';
  expectedInputs?: { type: 'text'; languages?: string[] }[];
  expectedOutputs?: { type: 'text'; languages?: string[] }[];
}
export interface Completion {
  text: string;
  tokens: Token[];
  /** 'stop': the model or a stop text ended it; 'length': `maxNewTokens` or the window. */
  finishReason: 'stop' | 'length';
  /** Of each token, in nats, before sampling options were applied. */
  logprobs?: Float32Array<ArrayBuffer>;
  /**
   * Of kind 'decoder': every token of prompt and answer at itself and those before. The ranges of its tokens are in the text
   * that prompt and answer write together. Read once more when the answer is done; cached ones too. Where all of them would
   * take more than 256 MiB, of so many of the first tokens as have room: `queryLen` is less than their number then.
   */
  attention?: Attention;
  stats: {
    promptTokens: number;
    /** Those of the prompt that had been read before. */
    cachedTokens: number;
    promptMs: number;
    newTokens: number;
    newMs: number;
  };
}

// ---- encoders

/** Texts of a call that are done, of all its texts. */
export interface EmbedProgress {
  readonly done: number;
  readonly total: number;
}
export interface EmbedCallOptions {
  signal?: AbortSignal;
  /** Called as texts are done. What it throws is an uncaught error, and fails no call. */
  onProgress?: (progress: EmbedProgress) => void;
}
export interface EmbedOptions extends ModelOptions {
  /** How the tokens' vectors become one. Default: as the model's own files say, else 'mean'. */
  pooling?: 'mean' | 'cls' | 'max';
  /** Whether vectors have length 1. Default: as the model's own files say. */
  normalize?: boolean;
  /** What happens to a text of more tokens than the model takes. Default 'truncate': its beginning counts. */
  tooLong?: 'truncate' | 'error';
}
export interface Embedding {
  /** Over a buffer of its own. */
  vector: Float32Array<ArrayBuffer>;
  truncated: boolean;
  tokens: Token[];
  /** Of kind 'encoder'; its tokens are those of the text and the marks around it. */
  attention?: Attention;
}
export interface EncoderCallOptions extends ModelOptions {
  tooLong?: 'truncate' | 'error';
  /** Taken as the text goes through the model, whose answer stays the same. */
  attention?: AttentionRequest;
}
export interface Classification {
  labels: { label: string; score: number }[];
  truncated: boolean;
  /** As that of an {@link Embedding}. */
  attention?: Attention;
}
export interface TaggedTokens {
  entities: { label: string; score: number; text: string; range: [number, number] }[];
  truncated: boolean;
  /** As that of an {@link Embedding}. */
  attention?: Attention;
}
export interface MaskFill {
  candidates: { token: Token; score: number; text: string }[];
  truncated: boolean;
  /** As that of an {@link Embedding}; the gap is a token of the text. */
  attention?: Attention;
}
/** Options of `transliterate()`. */
export interface TransliterateOptions extends ModelOptions {
  /** Hypotheses that go on at once, 1 to 64; 3 if nothing is said. */
  beamSize?: number;
  /** Most candidates that come; as many as `beamSize` if nothing is said. */
  candidates?: number;
  /** Of every candidate; the limit of 256 MiB holds for all of them together, and is known once they are found. */
  attention?: AttentionRequest;
}
/** What a text may be in another script. */
export interface Transliteration {
  /** The likeliest candidate's; empty where the text has no letter that the model knows. */
  text: string;
  /** The likeliest first. */
  candidates: TransliterationCandidate[];
}
export interface TransliterationCandidate {
  text: string;
  /** Product of the probabilities of all its symbols. */
  probability: number;
  /**
   * What each written symbol looked at: [1, 1, queryLen, keyLen], of the one layer and head that `layers` and `heads` name.
   * Queries are the written symbols, the last of them the end (with an empty range) where it was reached; keys are the
   * text's symbols as the model saw it, those that pad it included (with an empty range): `en-km-translit` sees 25, and does
   * not mask the padding. Rows sum to 1. Of a model without attention to its source: of no
   * layer and no head, and empty.
   */
  alignment: AttentionWeights;
  /**
   * Where it was asked for: text and candidate, read once more. Queries and keys of 'encoder', and keys of 'cross', are the
   * text's symbols as in `alignment`. Query t of 'decoder' and 'cross' is the step that writes symbol t, the last one the end
   * where it was reached; key t of 'decoder' is what that step reads: first the symbol that starts every answer, then all that
   * is written but the last. Start, end and padding have no text. Recurrent layers look at nothing of their own: of such a
   * stack there is no kind 'encoder' or 'decoder', and 'cross' of its last layer only.
   */
  attention?: Attention;
}

// ---- page

export interface PageTranslationOptions extends ModelOptions {
  from?: string;
  to: string;
  observe?: boolean;
}
export interface PageTranslation extends Destroyable {
  readonly done: Promise<void>;
  readonly progress: { blocks: number; translated: number };
  stop(): void;
  restore(): void;
}

// ---- housekeeping

export interface ModelInfo {
  id: string;
  tasks: string[];
  from?: string;
  to?: string;
  bytes: number;
  licence: string;
  cached: boolean;
  files: { name: string; bytes: number; sha256: string }[];
}
export interface MemoryUsage {
  wasm: number;
  gpu: number;
  models: { id: string; bytes: number; device: 'webgpu' | 'cpu' }[];
}
