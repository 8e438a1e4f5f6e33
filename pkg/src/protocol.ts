// Messages between page and worker. Each request carries the number of its call; replies repeat it.

import type { ErrorMessage } from './errors.js';
import type { DecodingOptions, Precision, Translation } from './types.js';

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
    ask: { model: number; files: TranslationFiles; precision: Precision };
    /** `computes`: on what and on how many threads, for people. */
    answer: { precision: 'float32' | 'int8'; computes: string };
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
  measure: { ask: { model: number; text: string }; answer: number };
  unload: { ask: { model: number }; answer: undefined };
  /** Bytes of the wasm memory. */
  memory: { ask: { of: 'wasm' }; answer: number };
}

export type Kind = keyof Requests;

export type RequestMessage = { [K in Kind]: { kind: K; call: number } & Requests[K]['ask'] }[Kind];
export type ToWorker = RequestMessage | { kind: 'abort'; call: number };

export type FromWorker =
  | { kind: 'answer'; call: number; answer: Requests[Kind]['answer'] }
  | { kind: 'piece'; call: number; text: string }
  | { kind: 'error'; call: number; error: ErrorMessage }
  /** The wasm instance trapped: nothing in this worker can be trusted any more. */
  | { kind: 'trap'; reason: string };
