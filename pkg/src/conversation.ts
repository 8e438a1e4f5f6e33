// A conversation with a language model: what was said, and the session in the worker that has read it.

import { abortable, either } from './abort.js';
import { attentionOf } from './attention.js';
import { chatOf, type Render, type Turn } from './chat.js';
import { fromMessage, invalid, MultiheadError } from './errors.js';
import { checkSignal, checkText, read, reading } from './options.js';
import { tooLarge, withoutOldest } from './overflow.js';
import { turnsBefore, turnsOf } from './prompt.js';
import type { AttentionMessage, GenerationMessage, PromptPart } from './protocol.js';
import { CALL_OPTIONS, callOf, type Call } from './sampling.js';
import { SharedModel, type RunningModel } from './shared-model.js';
import type {
  AttentionRequest,
  Completion,
  LoadedInfo,
  Prompt,
  PromptOptions,
  SamplingOptions,
  Token,
} from './types.js';

/** Share of the window that is kept for an answer whose length is not limited. */
const ROOM = 0.25;

/** What `signal` stops, and nothing more. */
interface Signalled {
  signal?: AbortSignal;
}

/** How tokens are drawn where a call says nothing. */
export type Sampling = SamplingOptions & { topK: number; temperature: number };

interface Beginning {
  sampling: Sampling;
  window: number;
  /** What always comes first. */
  turns: readonly Turn[];
  initial: number;
  usage: number;
}

let sessions = 0;

export class Conversation {
  readonly info: LoadedInfo;
  readonly sampling: Sampling;
  /** Most tokens. */
  readonly window: number;
  /** Tokens so far. */
  usage: number;
  /** Called when turns were left out. */
  overflowed: () => void = () => undefined;
  readonly #shared: SharedModel;
  #running: RunningModel;
  #render: Promise<Render> | undefined;
  #turns: readonly Turn[];
  readonly #initial: number;
  readonly #session: number;
  /** What complete() reads, beside the conversation. */
  readonly #beside = ++sessions;
  /** The calls under way, after which the next one goes on. */
  #last: Promise<unknown> = Promise.resolve();
  readonly #life = new AbortController();

  /** Takes over the caller's use of the model. */
  constructor(shared: SharedModel, running: RunningModel, beginning: Beginning, session = ++sessions) {
    this.#shared = shared;
    this.#running = running;
    this.#session = session;
    this.info = running.info;
    this.sampling = beginning.sampling;
    this.window = beginning.window;
    this.usage = beginning.usage;
    this.#turns = beginning.turns;
    this.#initial = beginning.initial;
  }

  get isOver(): boolean {
    return this.#life.signal.aborted;
  }

  /** Has the model stay in memory without users, until unload(). */
  keep(): void {
    this.#shared.kept = true;
  }

  /** Says something and has it answered; `cancelled` stops it like the caller's own signal. */
  async prompt(
    input: Prompt,
    options: PromptOptions,
    method: string,
    piece?: (text: string) => void,
    cancelled?: AbortSignal,
  ): Promise<string> {
    const taken = read(options, CALL_OPTIONS, `LanguageModel.${method}`);
    const turns = turnsOf(input);
    const call = callOf(taken);
    return either(cancelled, this.#life.signal, (life) =>
      this.#answer(turns, call, taken.signal, life, piece),
    );
  }

  /** Has turns answered. */
  async answer(
    turns: readonly Turn[],
    call: Call,
    signal: AbortSignal,
    piece?: (text: string) => void,
  ): Promise<string> {
    return this.#answer(turns, call, signal, this.#life.signal, piece);
  }

  async #answer(
    added: readonly Turn[],
    call: Call,
    own: AbortSignal | undefined,
    life: AbortSignal,
    piece: ((text: string) => void) | undefined,
  ): Promise<string> {
    return this.#inTurn(own, life, async (signal) => {
      const room = Math.min(call.maxNewTokens ?? Infinity, Math.ceil(this.window * ROOM));
      const prompt = await this.#fitted(added, room, signal);
      const { text, stats } = await this.#generate(this.#session, prompt, this.#message(call), signal, piece);
      const turns = [...this.#turns, ...added];
      const last = turns.at(-1);
      // An answer that was begun by the caller is one turn with its beginning.
      const begun = last?.role === 'assistant' && last.prefix ? turns.pop()?.content : undefined;
      this.#turns = [...turns, { role: 'assistant', content: `${begun ?? ''}${text}`, prefix: false }];
      this.usage = stats.promptTokens + stats.newTokens;
      return text;
    });
  }

  /** Reads what was said to begin with. */
  async begin(signal: AbortSignal | undefined): Promise<void> {
    if (this.#turns.length > 0) await this.#inTurn(signal, this.#life.signal, (both) => this.#read([], both));
  }

  async append(input: Prompt, options: Signalled): Promise<undefined> {
    const { signal: own } = read(options, ['signal'], 'LanguageModel.append()');
    const turns = turnsBefore(input);
    await this.#inTurn(own, this.#life.signal, (signal) => this.#read(turns, signal));
  }

  /** Reads turns without answering. */
  async #read(added: readonly Turn[], signal: AbortSignal): Promise<void> {
    let prompt: PromptPart[] | undefined;
    try {
      prompt = await this.#fitted(added, 0, signal);
    } catch (thrown) {
      // Some templates take a chat only once somebody asks something; what is wrong with it will be said then.
      const isEarly = ![...this.#turns, ...added].some(({ role }) => role === 'user');
      if (!(isEarly && thrown instanceof MultiheadError && thrown.option === 'input')) throw thrown;
    }
    if (prompt !== undefined && prompt.length > 0) {
      const message = { ...this.#message({}), maxNewTokens: 0 };
      const { stats } = await this.#generate(this.#session, prompt, message, signal, undefined);
      this.usage = stats.promptTokens;
    }
    this.#turns = [...this.#turns, ...added];
  }

  async clone(options: Signalled): Promise<Conversation> {
    const { signal: own } = read(options, ['signal'], 'LanguageModel.clone()');
    return this.#inTurn(own, this.#life.signal, async (signal) => {
      const shared = SharedModel.use('text', this.#shared.found, this.#shared.computing);
      const session = ++sessions;
      try {
        const { engine, number } = await this.#here(signal);
        await engine.request('fork', { model: number, session: this.#session, as: session }, { signal });
        const { sampling, window, usage } = this;
        const beginning = { sampling, window, usage, turns: this.#turns, initial: this.#initial };
        return new Conversation(shared, this.#running, beginning, session);
      } catch (thrown) {
        // The worker may have it already when an abort crosses its answer.
        this.#close(session);
        shared.release();
        throw thrown;
      }
    });
  }

  async complete(
    text: string,
    options: PromptOptions & { logprobs?: boolean; attention?: AttentionRequest },
  ): Promise<Completion> {
    const names = [...CALL_OPTIONS, 'logprobs', 'attention'];
    const { logprobs, attention, ...others } = read(options, names, 'LanguageModel.complete()');
    checkText(text);
    const wanted = attentionOf(attention);
    if (logprobs !== undefined && typeof logprobs !== 'boolean') {
      throw invalid('logprobs', 'true or false expected');
    }
    const message = { ...this.#message(callOf(others)), ...(logprobs === true ? { logprobs } : {}) };
    return this.#inTurn(others.signal, this.#life.signal, (signal) =>
      this.#generate(this.#beside, [[text, false]], message, signal, undefined, wanted),
    );
  }

  async score(
    text: string,
    options: Signalled,
  ): Promise<{ tokens: Token[]; logprobs: Float32Array<ArrayBuffer> }> {
    const { signal: own } = read(options, ['signal'], 'LanguageModel.score()');
    checkText(text);
    return this.#ask(own, ({ engine, number }, signal) =>
      engine.request('score', { model: number, text }, { signal }),
    );
  }

  async tokenize(text: string): Promise<Token[]> {
    checkText(text);
    return this.#ask(undefined, ({ engine, number }, signal) =>
      engine.request('tokenize', { model: number, text }, { signal }),
    );
  }

  async detokenize(ids: readonly number[]): Promise<string> {
    const given: unknown = ids;
    const list = reading('ids', () => (Array.isArray(given) ? Array.from(given as unknown[]) : undefined));
    if (list?.every(isId) !== true) throw invalid('ids', 'a list of token ids expected');
    return this.#ask(undefined, ({ engine, number }, signal) =>
      engine.request('detokenize', { model: number, ids: list as number[] }, { signal }),
    );
  }

  /** Tokens that the input would add, with what comes before its answer. */
  async measure(input: Prompt, options: Signalled): Promise<number> {
    const { signal: own } = read(options, ['signal'], 'LanguageModel.measureContextUsage()');
    const added = turnsOf(input);
    return this.#ask(own, async (_, signal) => {
      const prompt = await this.#rendered([...this.#turns, ...added], true);
      return Math.max((await this.#count(prompt, signal)) - this.usage, 0);
    });
  }

  /** Stops its open calls and frees the model, unless others use it. */
  destroy(): undefined {
    if (this.isOver) return;
    this.#life.abort(new DOMException('the LanguageModel was destroyed', 'AbortError'));
    this.#shared.release();
    // Where others use the model, it forgets what this one has read; freed, it has forgotten all.
    for (const session of [this.#session, this.#beside]) this.#close(session);
  }

  /** Has the worker forget what a session has read. */
  #close(session: number): void {
    const { engine, number } = this.#running;
    if (engine.alive) engine.request('close', { model: number, session }).catch(() => undefined);
  }

  /** One call after the other, each under the signals that stop it. */
  async #inTurn<T>(
    own: AbortSignal | undefined,
    life: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    checkSignal(own);
    const last = this.#last;
    const call = either(own, life, async (signal) => {
      await abortable(last, signal);
      signal.throwIfAborted();
      return work(signal);
    });
    // One that is aborted while it waits does not let the next one in before its time.
    this.#last = Promise.allSettled([last, call]).then(() => undefined);
    return call;
  }

  /** A question that does not wait for the others. */
  async #ask<T>(
    own: AbortSignal | undefined,
    work: (running: RunningModel, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    checkSignal(own);
    return either(own, this.#life.signal, async (signal) => work(await this.#here(signal), signal));
  }

  /** The model in its worker. A new worker has read nothing yet, and reads the conversation again. */
  async #here(signal: AbortSignal): Promise<RunningModel> {
    this.#running = await this.#shared.ready(signal);
    return this.#running;
  }

  async #rendered(turns: readonly Turn[], answering: boolean): Promise<PromptPart[]> {
    const { text } = this.#running;
    if (text === undefined) throw new TypeError('a language model that says nothing of itself');
    this.#render ??= chatOf(text);
    try {
      return (await this.#render)(turns, answering);
    } catch (thrown) {
      // What could not be fetched is fetched again.
      if (thrown instanceof MultiheadError && thrown.code === 'download-failed') this.#render = undefined;
      throw thrown;
    }
  }

  async #count(prompt: readonly PromptPart[], signal: AbortSignal): Promise<number> {
    return this.#shared.asked(signal, ({ engine, number }) =>
      engine.request('count', { model: number, prompt }, { signal }),
    );
  }

  /**
   * The prompt of the conversation with `added`. The oldest turns are left out where there would not be `room` tokens
   * for an answer; with no room, none comes.
   */
  async #fitted(added: readonly Turn[], room: number, signal: AbortSignal): Promise<PromptPart[]> {
    const answering = room > 0;
    const shorter: (readonly Turn[])[] = [];
    for (let kept: readonly Turn[] | undefined = this.#turns; kept !== undefined;) {
      shorter.push(kept);
      kept = withoutOldest(kept, this.#initial);
    }
    const last = shorter.length - 1;
    // The first that fits: with each the prompt is shorter, and mostly all that was said fits.
    let [low, high, place] = [0, last, 0];
    let found: { kept: readonly Turn[]; prompt: PromptPart[] } | undefined;
    let tokens = 0;
    while (low <= high) {
      const kept = shorter[place] ?? [];
      const prompt = await this.#rendered([...kept, ...added], answering);
      tokens = await this.#count(prompt, signal);
      // Where nothing more can go, a shorter answer has to do.
      const needed = place === last ? Math.min(room, 1) : room;
      if (tokens + needed <= this.window) {
        found = { kept, prompt };
        high = place - 1;
      } else {
        low = place + 1;
      }
      place = (low + high) >> 1;
    }
    if (found === undefined) throw fromMessage(tooLarge(tokens, this.window));
    if (found.kept !== this.#turns) {
      this.#turns = found.kept;
      this.overflowed();
    }
    return found.prompt;
  }

  #message(call: Call): GenerationMessage {
    const sampling = { ...this.sampling, ...call };
    return {
      ...sampling,
      seed: sampling.seed ?? crypto.getRandomValues(new Uint32Array(1))[0] ?? 0,
      contextWindow: this.window,
    };
  }

  async #generate(
    session: number,
    prompt: readonly PromptPart[],
    options: GenerationMessage,
    signal: AbortSignal,
    piece: ((text: string) => void) | undefined,
    attention?: AttentionMessage,
  ): Promise<Completion> {
    return this.#shared.asked(
      signal,
      (running, tell) => {
        this.#running = running;
        const stream = piece !== undefined;
        const ask = { model: running.number, session, prompt, options, stream, attention };
        return running.engine.request('generate', ask, { signal, piece: tell });
      },
      piece,
    );
  }
}

function isId(id: unknown): boolean {
  return typeof id === 'number' && Number.isInteger(id) && id >= 0 && id < 2 ** 32;
}
