// The worker's side of a language model: its sessions by number, each with its own queue.

import { unknownTo, type AnswerOf, type Host, type ModelRequest, type Run, type Work } from './host.js';
import type { Instance } from './instance.js';
import { tooLarge } from './overflow.js';
import type { Ask, PromptPart, TextInfo } from './protocol.js';
import type { Wasm } from './serve.js';
import type { TextGlue } from './text-modules.js';
import type { Completion, Token } from './types.js';
import { buffersOf, watched, type Watched } from './watched.js';

/** What the wasm module offers for language models. */
export interface WasmTextModel {
  readonly info: TextInfo & { precision: string };
  encode(parts: readonly PromptPart[]): Uint32Array;
  tokenize(text: string): Token[];
  detokenize(ids: Uint32Array): string;
  session(): WasmTextSession;
  score(text: string): WasmScoreJob;
  free(): void;
}

export interface WasmTextSession {
  fork(): WasmTextSession;
  generate(ids: Uint32Array, options: object): WasmTextJob;
  free(): void;
}

interface WasmJob<Answer> {
  readonly done: boolean;
  step(budgetMs: number): Promise<void>;
  /** Frees the job. */
  finish(): Answer;
  free(): void;
}

export interface WasmTextJob extends WasmJob<Completion>, Watched {
  takeText(): string;
}

export type WasmScoreJob = WasmJob<AnswerOf<'score'>>;

/** The queue of what has no session. */
const NO_SESSION = 0;

export class TextHost implements Host {
  readonly #model: WasmTextModel;
  readonly #sessions = new Map<number, WasmTextSession>();

  constructor(model: WasmTextModel) {
    this.#model = model;
  }

  get info(): Host['info'] {
    const { precision, ...text } = this.#model.info;
    return { precision: precision === 'int8' ? 'int8' : 'float32', text };
  }

  take(request: ModelRequest): { answer: number | string | Token[] } | Work {
    const { kind } = request;
    if (kind === 'count') return { answer: this.#model.encode(request.prompt).length };
    if (kind === 'tokenize') return { answer: this.#model.tokenize(request.text) };
    if (kind === 'detokenize') return { answer: this.#model.detokenize(Uint32Array.from(request.ids)) };
    if (kind === 'generate') return { lane: request.session, begin: () => this.#generate(request) };
    if (kind === 'score') {
      return { lane: NO_SESSION, begin: () => runOf(this.#model.score(request.text), () => '') };
    }
    if (kind === 'fork' || kind === 'close') {
      const begin = (): Run =>
        done(() => {
          this.#change(request);
        });
      return { lane: request.session, begin, isShort: true };
    }
    throw unknownTo('a language model', request);
  }

  #change(request: Ask<'fork'> | Ask<'close'>): void {
    const session = this.#sessions.get(request.session);
    if (session === undefined) return;
    if (request.kind === 'fork') {
      this.#sessions.set(request.as, session.fork());
    } else {
      this.#sessions.delete(request.session);
      session.free();
    }
  }

  #generate({ session: number, prompt, options, stream, attention }: Ask<'generate'>): Run {
    const ids = this.#model.encode(prompt);
    const { contextWindow, maxNewTokens = contextWindow } = options;
    if (ids.length > contextWindow || (ids.length === contextWindow && maxNewTokens > 0)) {
      throw tooLarge(ids.length, contextWindow);
    }
    let session = this.#sessions.get(number);
    if (session === undefined) this.#sessions.set(number, (session = this.#model.session()));
    const job = watched(session.generate(ids, { ...options, maxNewTokens }), attention);
    return runOf(job, () => (stream ? job.takeText() : ''));
  }

  free(): void {
    for (const session of this.#sessions.values()) session.free();
    this.#sessions.clear();
    this.#model.free();
  }
}

function runOf(job: WasmJob<Completion | AnswerOf<'score'>>, piece: () => string): Run {
  return {
    get done() {
      return job.done;
    },
    step: (budgetMs) => job.step(budgetMs),
    piece,
    finish: () => {
      const answer = job.finish();
      const { logprobs } = answer;
      const weights = 'attention' in answer ? buffersOf(answer.attention) : [];
      return { answer, transfer: logprobs === undefined ? weights : [logprobs.buffer, ...weights] };
    },
    free: () => {
      job.free();
    },
  };
}

/** Work that is done at once, when its turn comes. */
function done(work: () => void): Run {
  return {
    done: true,
    step: () => Promise.resolve(),
    piece: () => '',
    finish: () => {
      work();
      return { answer: undefined, transfer: [] };
    },
    free: () => undefined,
  };
}

/** What a worker of language models offers. */
export function writing({ memory, script, computes }: Instance<TextGlue>): Wasm {
  const open: Wasm['open'] = (files, options) => new TextHost(new script.TextModel(files, options));
  return { memory, computes, open };
}
