// Messages between page and worker. Each request carries the number of its call; replies repeat it.

import type { ErrorMessage } from './errors.js';
import type {
  Attention,
  AttentionWeights,
  Classification,
  Completion,
  DecodingOptions,
  MaskFill,
  Precision,
  SamplingOptions,
  TaggedTokens,
  Token,
  Translation,
  Transliteration,
} from './types.js';

/** A file as the worker reads it: by ranges of a Blob, or from memory where there is no FileReaderSync. */
export interface FileMessage {
  name: string;
  data: Blob | Uint8Array<ArrayBuffer>;
}

/** Files of a translation model by their role. */
export interface TranslationFiles {
  model: FileMessage;
  /** Of both languages, unless there is a `targetVocab`. */
  sourceVocab: FileMessage;
  targetVocab?: FileMessage;
  shortlist?: FileMessage;
}

export type FileRole = keyof TranslationFiles;

/** The file of a language model. */
export interface TextFiles {
  model: FileMessage;
}

/** The files of an encoder by their paths in its folder: `config.json`, `tokenizer.json`, `model.safetensors`, … */
export type EncoderFiles = Record<string, FileMessage> & { 'config.json': FileMessage };

/** How a model is to be computed. */
export interface LoadMessage {
  precision: Precision;
  kvCache?: 'int8';
}

/** What the page has to know of a language model. */
export interface TextInfo {
  /** Most tokens that it can look at. */
  contextLength: number;
  /** In Jinja, as the file has it. */
  chatTemplate?: string;
  bosToken?: string;
  eosToken?: string;
  /** Names that are tokens of their own where a template writes them. */
  controlTokens: string[];
}

/** What an encoder can be asked for: its heads and, of every one, its vectors. */
export type EncoderTask = 'embed' | 'classify' | 'tag' | 'fill' | 'transliterate';

/** What the page has to know of an encoder. */
export interface EncoderInfo {
  architecture: string;
  tasks: readonly EncoderTask[];
  /** Length of its vectors. */
  dimensions: number;
  /** Most tokens of a text, those that the tokenizer adds included. */
  maxTokens: number;
  /** What stands for a word that is asked for. */
  maskToken?: string;
}

/** Attention that is wanted: bits of `kinds` in the order 'encoder', 'decoder', 'cross'; 0 and empty lists: all. */
export interface AttentionMessage {
  kinds: number;
  layers: readonly number[];
  heads: readonly number[];
}

/** How texts become vectors; what is missing is as the model's own files say. */
export interface PoolingMessage {
  pooling?: 'mean' | 'cls' | 'max';
  normalize?: boolean;
  tooLong?: 'truncate' | 'error';
}

/** How a head's answer is made. */
export interface HeadMessage {
  topK?: number;
  tooLong?: 'truncate' | 'error';
}

/** A text for a head. */
export interface HeadAsk {
  model: number;
  text: string;
  options: HeadMessage;
  attention?: AttentionMessage | undefined;
}

/** How a transliteration is searched for. */
export interface BeamMessage {
  beamSize?: number;
  candidates?: number;
}

/** Vectors of texts, one under the other: [texts, dimensions]. */
export interface Vectors {
  vectors: Float32Array<ArrayBuffer>;
  truncated: readonly boolean[];
  /** Of each text, where they are asked for. */
  tokens?: Token[][];
  /** Of each text, where it is asked for. */
  attention?: Attention[];
}

/** A part of a prompt, and whether names of control tokens in it are these tokens: in what somebody wrote they are text. */
export type PromptPart = [text: string, isTemplate: boolean];

/** How a language model goes on. */
export interface GenerationMessage extends SamplingOptions {
  contextWindow: number;
  /** As many as the window has room for, if it is missing; 0: the prompt is read only. */
  maxNewTokens?: number;
  stop?: string[];
  logprobs?: boolean;
}

/** How the wasm is to be started. */
export interface StartMessage {
  /** Folder of the .wasm files, if they are not beside the scripts. */
  wasmBase: string | undefined;
  /** Threads wanted. */
  threads: number;
}

/** What the worker can be asked, and what it answers. */
export interface Requests {
  /** Compiles the wasm; the first request of every worker. */
  start: { ask: StartMessage; answer: undefined };
  load: {
    ask: { model: number; files: TranslationFiles | TextFiles | EncoderFiles; options: LoadMessage };
    /** `computes`: on what and on how many threads, for people. `text`: of a language model, `encoder`: of an encoder. */
    answer: { precision: 'float32' | 'int8'; text?: TextInfo; encoder?: EncoderInfo; computes: string };
  };
  translate: {
    ask: {
      model: number;
      texts: readonly string[];
      decoding: DecodingOptions;
      /** 'stream': pieces as sentences end; 'detail': with tokens and alignments. */
      want: 'text' | 'stream' | 'detail' | 'pieces-and-detail';
    };
    answer: readonly Translation[] | readonly string[];
  };
  align: {
    ask: { model: number; source: string; target: string; decoding: DecodingOptions };
    /** One. */
    answer: readonly Translation[];
  };
  /** Attention of a sentence, by ids without the end tokens. */
  attend: {
    ask: {
      model: number;
      source: readonly number[];
      target: readonly number[];
      attention: AttentionMessage;
    };
    /** 'encoder', 'decoder', 'cross', each without weights where it is not wanted. */
    answer: readonly Omit<AttentionWeights, 'queryTokens' | 'keyTokens'>[];
  };
  measure: { ask: { model: number; text: string }; answer: number };
  generate: {
    ask: {
      model: number;
      /** One that is not there yet begins empty. */
      session: number;
      prompt: readonly PromptPart[];
      options: GenerationMessage;
      /** Whether the text is wanted in pieces as well. */
      stream: boolean;
      attention?: AttentionMessage | undefined;
    };
    answer: Completion;
  };
  /** Begins the session `as` with all that another has read. */
  fork: { ask: { model: number; session: number; as: number }; answer: undefined };
  close: { ask: { model: number; session: number }; answer: undefined };
  score: {
    ask: { model: number; text: string };
    answer: { tokens: Token[]; logprobs: Float32Array<ArrayBuffer> };
  };
  count: { ask: { model: number; prompt: readonly PromptPart[] }; answer: number };
  tokenize: { ask: { model: number; text: string }; answer: Token[] };
  detokenize: { ask: { model: number; ids: readonly number[] }; answer: string };
  embed: {
    /** `detail`: with the texts' tokens. */
    ask: {
      model: number;
      texts: readonly string[];
      options: PoolingMessage;
      detail: boolean;
      attention?: AttentionMessage | undefined;
    };
    answer: Vectors;
  };
  classify: { ask: HeadAsk; answer: Classification };
  tag: { ask: HeadAsk; answer: TaggedTokens };
  fill: { ask: HeadAsk; answer: MaskFill };
  transliterate: {
    ask: { model: number; text: string; options: BeamMessage; attention?: AttentionMessage | undefined };
    answer: Transliteration;
  };
  unload: { ask: { model: number }; answer: undefined };
  memory: { ask: object; answer: Taken };
}

/** Bytes of the wasm memory, and of the buffers on the GPU. */
export interface Taken {
  wasm: number;
  gpu: number;
}

export type Kind = keyof Requests;

export type Answer = Requests[Kind]['answer'];

/** The request of a kind. */
export type Ask<K extends Kind> = { [One in K]: { kind: One; call: number } & Requests[One]['ask'] }[K];
export type RequestMessage = Ask<Kind>;
export type ToWorker = RequestMessage | { kind: 'abort'; call: number };

export type FromWorker =
  | { kind: 'answer'; call: number; answer: Answer }
  | { kind: 'piece'; call: number; text: string }
  /** Texts of the call that are done. */
  | { kind: 'progress'; call: number; done: number }
  | { kind: 'error'; call: number; error: ErrorMessage }
  /** The wasm instance trapped, or its device is lost: nothing in this worker can be used any more. */
  | { kind: 'trap'; reason: string; code?: 'device-lost' };
