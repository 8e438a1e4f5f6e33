// The worker's side: models by number, a queue of calls for each, and small steps in turn, so that an abort
// or another model's call gets in every few milliseconds.

import { reasonOf, type ErrorCode, type ErrorMessage } from './errors.js';
import type { FromWorker, Requests, RequestMessage, StartMessage, ToWorker } from './protocol.js';
import type { Translation } from './types.js';

/** Milliseconds of work between two looks at the messages. */
const BUDGET = 8;

/** What the wasm module offers here; errors are thrown as {@link ErrorMessage}. */
export interface Wasm {
  readonly memory: WebAssembly.Memory;
  readonly TranslationModel: new (files: object, options: object) => WasmTranslationModel;
  /** What it computes on, once its threads are there: "relaxed SIMD, 2 threads". */
  readonly computes: Promise<string>;
}

export interface WasmTranslationModel {
  readonly precision: string;
  countTokens(text: string): number;
  start(texts: string[], options: object): WasmTranslationJob;
  /** The target is the translation that the job ends with. */
  startAlignment(source: string, target: string, options: object): WasmTranslationJob;
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

/** The worker's end of the line. */
export interface PagePort {
  post(message: FromWorker, transfer: ArrayBuffer[]): void;
}

type Ask<K extends keyof Requests> = Extract<RequestMessage, { kind: K }>;

interface Task {
  request: Ask<'translate'> | Ask<'align'> | Ask<'unload'>;
  job: WasmTranslationJob | undefined;
  aborted: boolean;
}

interface Model {
  model: WasmTranslationModel;
  queue: Task[];
}

/** Answers the page's messages with `compile`'s module. Returns the function that takes the messages. */
export function serve(
  port: PagePort,
  compile: (start: StartMessage) => Promise<Wasm>,
): (message: ToWorker) => void {
  const server = new Server(port, compile);
  return (message) => {
    server.receive(message);
  };
}

class Server {
  #compiling: Promise<Wasm> | undefined;
  #wasm: Wasm | undefined;
  /** After a trap the wasm instance can't be used any more. */
  #trapped = false;
  #working = false;
  readonly #models = new Map<number, Model>();
  readonly #port: PagePort;
  readonly #compile: (start: StartMessage) => Promise<Wasm>;

  constructor(port: PagePort, compile: (start: StartMessage) => Promise<Wasm>) {
    this.#port = port;
    this.#compile = compile;
  }

  receive(message: ToWorker): void {
    if (this.#trapped) return;
    if (message.kind === 'abort') {
      this.#abort(message.call);
      return;
    }
    this.#handle(message).catch((thrown: unknown) => {
      this.#fail(message.call, thrown);
    });
  }

  async #handle(request: RequestMessage): Promise<void> {
    if (request.kind === 'start') {
      this.#compiling = this.#compile(request);
      this.#wasm = await this.#compiling;
      this.#answer(request.call, undefined);
      return;
    }
    // Once it is there, nothing is awaited, so that an abort can't overtake its call.
    const wasm = this.#wasm ?? (await this.#compiling);
    if (wasm === undefined) throw new Error(`'${request.kind}' before 'start'`);
    switch (request.kind) {
      case 'load': {
        const model = new wasm.TranslationModel(request.files, { precision: request.precision });
        this.#models.set(request.model, { model, queue: [] });
        const precision = model.precision === 'int8' ? 'int8' : 'float32';
        this.#answer(request.call, { precision, computes: await wasm.computes });
        return;
      }
      case 'measure':
        this.#answer(request.call, this.#model(request.model).model.countTokens(request.text));
        return;
      case 'memory':
        this.#answer(request.call, wasm.memory.buffer.byteLength);
        return;
      case 'translate':
      case 'align':
        this.#model(request.model).queue.push({ request, job: undefined, aborted: false });
        await this.#work();
        return;
      case 'unload': {
        const loaded = this.#models.get(request.model);
        if (loaded === undefined) {
          this.#answer(request.call, undefined);
          return;
        }
        loaded.queue.push({ request, job: undefined, aborted: false });
        await this.#work();
      }
    }
  }

  #model(number: number): Model {
    const model = this.#models.get(number);
    if (model === undefined) throw new Error(`no model ${number} is loaded`);
    return model;
  }

  /** Takes the models' queues in turn until all are empty. */
  async #work(): Promise<void> {
    if (this.#working) return;
    this.#working = true;
    try {
      let busy = true;
      while (busy && !this.#trapped) {
        busy = false;
        for (const [number, model] of this.#models) {
          const task = model.queue[0];
          if (task === undefined) continue;
          busy = true;
          await this.#advance(number, model, task);
          await turn();
        }
      }
    } finally {
      this.#working = false;
    }
  }

  /** One budget of work on the first task of a model's queue. */
  async #advance(number: number, { model, queue }: Model, task: Task): Promise<void> {
    const { request } = task;
    try {
      if (request.kind === 'unload') {
        queue.shift();
        model.free();
        this.#models.delete(number);
        this.#answer(request.call, undefined);
        return;
      }
      task.job ??=
        request.kind === 'align'
          ? model.startAlignment(request.source, request.target, request.decoding)
          : model.start([...request.texts], request.decoding);
      const { job } = task;
      await job.step(BUDGET);
      if (task.aborted) {
        queue.shift();
        job.free();
        return;
      }
      const want = request.kind === 'align' ? 'detail' : request.want;
      if (want === 'stream' || want === 'pieces-and-detail') {
        this.#post({ kind: 'piece', call: request.call, text: job.takeText(0) });
      }
      if (!job.done) return;
      queue.shift();
      task.job = undefined;
      const detailed = want === 'detail' || want === 'pieces-and-detail';
      this.#answer(request.call, detailed ? job.finish() : job.finishTexts());
    } catch (thrown) {
      queue.shift();
      if (!isTrap(thrown)) task.job?.free();
      this.#fail(request.call, thrown);
    }
  }

  #abort(call: number): void {
    for (const { queue } of this.#models.values()) {
      const place = queue.findIndex(({ request }) => request.call === call);
      const task = queue[place];
      if (task === undefined) continue;
      // The first one may be in the middle of a step; it goes when that returns.
      if (place === 0) task.aborted = true;
      else queue.splice(place, 1);
    }
  }

  #answer(call: number, answer: Requests[keyof Requests]['answer']): void {
    const buffers = (Array.isArray(answer) ? answer : []).flatMap((part: string | Translation) =>
      typeof part === 'string' ? [] : part.sentences.map(({ alignment }) => alignment.buffer),
    );
    this.#port.post({ kind: 'answer', call, answer }, buffers);
  }

  #post(message: Extract<FromWorker, { kind: 'piece' }>): void {
    if (message.text !== '') this.#port.post(message, []);
  }

  #fail(call: number, thrown: unknown): void {
    if (isTrap(thrown)) {
      this.#trapped = true;
      this.#port.post({ kind: 'trap', reason: reasonOf(thrown) }, []);
      return;
    }
    this.#port.post({ kind: 'error', call, error: messageOf(thrown) }, []);
  }
}

/** A panic, running out of memory or stack: the instance's state is not sound any more. */
function isTrap(thrown: unknown): boolean {
  return thrown instanceof WebAssembly.RuntimeError || thrown instanceof RangeError;
}

function messageOf(thrown: unknown): ErrorMessage {
  if (typeof thrown === 'object' && thrown !== null && 'code' in thrown && 'message' in thrown) {
    const { code, message, ...others } = thrown as ErrorMessage;
    return { code: code satisfies ErrorCode, message, ...others };
  }
  return { code: 'internal', message: reasonOf(thrown) };
}

/** Lets waiting messages in. */
function turn(): Promise<void> {
  if (typeof setImmediate === 'function') return new Promise((resolve) => setImmediate(resolve));
  return new Promise((resolve) => {
    waiting.push(resolve);
    channel ??= openChannel();
    channel.postMessage(undefined);
  });
}

const waiting: (() => void)[] = [];
let channel: MessagePort | undefined;

/** Timers would be slowed down to 4 ms. */
function openChannel(): MessagePort {
  const { port1, port2 } = new MessageChannel();
  port1.addEventListener('message', () => waiting.shift()?.());
  port1.start();
  return port2;
}
