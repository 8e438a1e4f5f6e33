// The worker's side of an encoder: one call after the other.

import type { EncoderGlue } from './encoder-modules.js';
import { unknownTo, type AnswerOf, type Host, type ModelRequest, type Run, type Work } from './host.js';
import type { Instance } from './instance.js';
import type { Ask, BeamMessage, EncoderInfo, HeadMessage, PoolingMessage } from './protocol.js';
import type { Wasm } from './serve.js';
import type { Attention, Classification, MaskFill, TaggedTokens, Token, Transliteration } from './types.js';
import { buffersOf, watched, type Watched } from './watched.js';

/** What the wasm module offers for encoders. */
export interface WasmEncoderModel {
  readonly info: EncoderInfo & { precision: string };
  tokenize(text: string): Token[];
  embed(
    texts: string[],
    options: PoolingMessage & { detail?: boolean },
  ): WasmEncoderJob<AnswerOf<'embed'>> & Watched;
  classify(text: string, options: HeadMessage): WasmEncoderJob<Classification> & Watched;
  tagTokens(text: string, options: HeadMessage): WasmEncoderJob<TaggedTokens> & Watched;
  fillMask(text: string, options: HeadMessage): WasmEncoderJob<MaskFill> & Watched;
  free(): void;
}

/** What it offers for models over letters. */
export interface WasmLettersModel {
  readonly info: EncoderInfo & { precision: string };
  transliterate(text: string, options: BeamMessage): WasmEncoderJob<Transliteration> & Watched;
  free(): void;
}

export interface WasmEncoderJob<Answer> {
  readonly done: boolean;
  /** Texts that are done. */
  readonly completed: number;
  step(budgetMs: number): Promise<void>;
  /** Frees the job. */
  finish(): Answer;
  free(): void;
}

type Asked = Ask<'embed'> | Ask<'classify'> | Ask<'tag'> | Ask<'fill'>;

export class EncoderHost implements Host {
  readonly #model: WasmEncoderModel;

  constructor(model: WasmEncoderModel) {
    this.#model = model;
  }

  get info(): Host['info'] {
    const { precision, ...encoder } = this.#model.info;
    return { precision: precision === 'int8' ? 'int8' : 'float32', encoder };
  }

  take(request: ModelRequest): { answer: Token[] } | Work {
    const { kind } = request;
    if (kind === 'tokenize') return { answer: this.#model.tokenize(request.text) };
    if (kind === 'embed' || kind === 'classify' || kind === 'tag' || kind === 'fill') {
      return { lane: 0, begin: () => this.#begin(request) };
    }
    throw unknownTo('an encoder', request);
  }

  #begin(request: Asked): Run {
    const { options, attention } = request;
    if (request.kind === 'embed') {
      const { detail, texts } = request;
      const job = this.#model.embed([...texts], { ...options, ...(detail ? { detail } : {}) });
      return runOf(watched(job, attention), (answer) => [
        answer.vectors.buffer,
        ...(answer.attention ?? []).flatMap(buffersOf),
      ]);
    }
    const { kind, text } = request;
    if (kind === 'classify') return runOf(watched(this.#model.classify(text, options), attention), looked);
    if (kind === 'tag') return runOf(watched(this.#model.tagTokens(text, options), attention), looked);
    return runOf(watched(this.#model.fillMask(text, options), attention), looked);
  }

  free(): void {
    this.#model.free();
  }
}

/** The worker's side of a model over letters. */
export class LettersHost implements Host {
  readonly #model: WasmLettersModel;

  constructor(model: WasmLettersModel) {
    this.#model = model;
  }

  get info(): Host['info'] {
    const { precision: _, ...encoder } = this.#model.info;
    return { precision: 'float32', encoder };
  }

  take(request: ModelRequest): Work {
    if (request.kind !== 'transliterate') throw unknownTo('a model over letters', request);
    const { text, options, attention } = request;
    return {
      lane: 0,
      begin: () =>
        runOf(watched(this.#model.transliterate(text, options), attention), ({ candidates }) =>
          candidates.flatMap((one) => [one.alignment.weights.buffer, ...buffersOf(one.attention)]),
        ),
    };
  }

  free(): void {
    this.#model.free();
  }
}

/** What of an answer goes over to the page. */
function looked({ attention }: { attention?: Attention }): ArrayBuffer[] {
  return buffersOf(attention);
}

/** Whether the files, as the page has chosen them, are a model's over letters: an encoder comes with its tokenizer. */
export function isOfLetters(files: object): boolean {
  return 'config.json' in files && !('tokenizer.json' in files);
}

function runOf<Answer extends AnswerOf<Asked['kind'] | 'transliterate'>>(
  job: WasmEncoderJob<Answer>,
  transfer: (answer: Answer) => ArrayBuffer[] = () => [],
): Run {
  return {
    get done() {
      return job.done;
    },
    get completed() {
      return job.completed;
    },
    step: (budgetMs) => job.step(budgetMs),
    piece: () => '',
    finish: () => {
      const answer = job.finish();
      return { answer, transfer: transfer(answer) };
    },
    free: () => {
      job.free();
    },
  };
}

/** What a worker of encoders offers. */
export function understanding({ memory, script, computes }: Instance<EncoderGlue>): Wasm {
  const open: Wasm['open'] = (files, options) =>
    isOfLetters(files)
      ? new LettersHost(new script.LettersModel(files, options))
      : new EncoderHost(new script.EncoderModel(files, options));
  return { memory, computes, open };
}
