// The worker's side of a translation model.

import { unknownTo, type AnswerOf, type Host, type ModelRequest, type Run, type Work } from './host.js';
import type { Instance } from './instance.js';
import type { Ask } from './protocol.js';
import type { Wasm } from './serve.js';
import type { TranslationGlue } from './translation-modules.js';
import type { Translation } from './types.js';

/** What the wasm module offers for translation. */
export interface WasmTranslationModel {
  readonly precision: string;
  countTokens(text: string): number;
  start(texts: string[], options: object): WasmTranslationJob;
  /** The target is the translation that the job ends with. */
  startAlignment(source: string, target: string, options: object): WasmTranslationJob;
  /** Bits of `kinds` in the order 'encoder', 'decoder', 'cross'; 0 and empty lists: all. */
  startAttention(
    source: Uint32Array,
    target: Uint32Array,
    kinds: number,
    layers: Uint32Array,
    heads: Uint32Array,
  ): WasmAttentionJob;
  free(): void;
}

export interface WasmTranslationJob {
  readonly done: boolean;
  step(budgetMs: number): Promise<void>;
  /** Translated text that has become known since the last call, in reading order, of the text at `index`. */
  takeText(index: number): string;
  /** Frees the job. */
  finishTexts(): string[];
  /** Frees the job. */
  finish(): Translation[];
  free(): void;
}

export interface WasmAttentionJob {
  readonly done: boolean;
  step(budgetMs: number): Promise<void>;
  /** Frees the job. */
  finish(): AnswerOf<'attend'>;
  free(): void;
}

/** Works at one call after the other. */
export class TranslationHost implements Host {
  readonly #model: WasmTranslationModel;

  constructor(model: WasmTranslationModel) {
    this.#model = model;
  }

  get info(): Host['info'] {
    return { precision: this.#model.precision === 'int8' ? 'int8' : 'float32' };
  }

  take(request: ModelRequest): { answer: number } | Work {
    const { kind } = request;
    if (kind === 'measure') return { answer: this.#model.countTokens(request.text) };
    if (kind === 'translate' || kind === 'align') {
      return { lane: 0, begin: () => runOf(this.#begin(request), request) };
    }
    if (kind === 'attend') return { lane: 0, begin: () => this.#attend(request) };
    throw unknownTo('a translation model', request);
  }

  #begin(request: Ask<'translate'> | Ask<'align'>): WasmTranslationJob {
    return request.kind === 'align'
      ? this.#model.startAlignment(request.source, request.target, request.decoding)
      : this.#model.start([...request.texts], request.decoding);
  }

  #attend({ source, target, attention: { kinds, layers, heads } }: Ask<'attend'>): Run {
    const job = this.#model.startAttention(ids(source), ids(target), kinds, ids(layers), ids(heads));
    return {
      get done() {
        return job.done;
      },
      step: (budgetMs) => job.step(budgetMs),
      piece: () => '',
      finish: () => {
        const answer = job.finish();
        return { answer, transfer: answer.map(({ weights }) => weights.buffer) };
      },
      free: () => {
        job.free();
      },
    };
  }

  free(): void {
    this.#model.free();
  }
}

function ids(list: readonly number[]): Uint32Array {
  return Uint32Array.from(list);
}

function runOf(job: WasmTranslationJob, request: Ask<'translate'> | Ask<'align'>): Run {
  const want = request.kind === 'align' ? 'detail' : request.want;
  const inPieces = want === 'stream' || want === 'pieces-and-detail';
  return {
    get done() {
      return job.done;
    },
    step: (budgetMs) => job.step(budgetMs),
    piece: () => (inPieces ? job.takeText(0) : ''),
    finish: () => {
      if (want === 'text' || want === 'stream') return { answer: job.finishTexts(), transfer: [] };
      const answer = job.finish();
      return {
        answer,
        transfer: answer.flatMap(({ sentences }) => sentences.map(({ alignment }) => alignment.buffer)),
      };
    },
    free: () => {
      job.free();
    },
  };
}

/** What a worker that translates offers. */
export function translating({ memory, script, computes }: Instance<TranslationGlue>): Wasm {
  const open: Wasm['open'] = (files, options) =>
    new TranslationHost(new script.TranslationModel(files, options));
  return { memory, computes, open };
}
