// The worker's side: models by number, a queue of calls for each, and small steps in turn, so that an abort
// or another model's call gets in every few milliseconds.

import { reasonOf, type ErrorCode, type ErrorMessage } from './errors.js';
import type { Host, ModelRequest, Run, Work } from './host.js';
import type { Answer, Ask, FromWorker, RequestMessage, StartMessage, ToWorker } from './protocol.js';

/** Milliseconds of work between two looks at the messages. */
const BUDGET = 12;

/** What the wasm module offers here; errors are thrown as {@link ErrorMessage}. */
export interface Wasm {
  readonly memory: WebAssembly.Memory;
  /** Bytes of the buffers on the GPU, where there is one. */
  readonly gpuBytes?: () => number;
  /** Loads a model. */
  readonly open: (files: Ask<'load'>['files'], options: Ask<'load'>['options']) => Host;
  /** What it computes on, once its threads are there: "relaxed SIMD, 2 threads". */
  readonly computes: Promise<string>;
}

/** The worker's end of the line. */
export interface PagePort {
  post(message: FromWorker, transfer: ArrayBuffer[]): void;
}

interface Task {
  call: number;
  begin: () => Run;
  run: Run | undefined;
  /** Texts whose end the page knows of. */
  told: number;
  aborted: boolean;
}

interface Model {
  host: Host;
  /** By their numbers; an empty one is taken out. */
  lanes: Map<number, Task[]>;
  /** Calls that wait for the lanes to be empty. */
  unloads: number[];
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
    if (request.kind === 'load') {
      const host = wasm.open(request.files, request.options);
      const model: Model = { host, lanes: new Map(), unloads: [] };
      this.#models.set(request.model, model);
      const answer = { ...host.info, computes: await wasm.computes };
      const { warmUp } = host;
      if (warmUp === undefined) this.#answer(request.call, answer);
      else await this.#queue(model, request.call, { lane: 0, begin: () => warmUp(answer) });
    } else if (request.kind === 'memory') {
      this.#answer(request.call, { wasm: wasm.memory.buffer.byteLength, gpu: wasm.gpuBytes?.() ?? 0 });
    } else if (request.kind === 'unload') {
      const loaded = this.#models.get(request.model);
      if (loaded === undefined) {
        this.#answer(request.call, undefined);
        return;
      }
      loaded.unloads.push(request.call);
      await this.#work();
    } else {
      await this.#take(this.#model(request.model), request);
    }
  }

  async #take(model: Model, request: ModelRequest): Promise<void> {
    const taken: { answer: Answer } | Work = model.host.take(request);
    if ('answer' in taken) this.#answer(request.call, taken.answer);
    else await this.#queue(model, request.call, taken);
  }

  async #queue({ lanes }: Model, call: number, { lane, begin, isShort }: Work): Promise<void> {
    const queue = lanes.get(lane) ?? [];
    if (isShort === true && queue.length === 0) {
      this.#answer(call, begin().finish().answer);
      return;
    }
    lanes.set(lane, queue);
    queue.push({ call, begin, run: undefined, told: 0, aborted: false });
    await this.#work();
  }

  #model(number: number): Model {
    const model = this.#models.get(number);
    if (model === undefined) throw new Error(`no model ${number} is loaded`);
    return model;
  }

  /** Takes the lanes of the models in turn until all are empty. */
  async #work(): Promise<void> {
    if (this.#working) return;
    this.#working = true;
    try {
      let busy = true;
      while (busy && !this.#trapped) {
        busy = false;
        for (const [number, model] of this.#models) {
          for (const [lane, queue] of model.lanes) {
            const task = queue[0];
            if (task !== undefined) {
              busy = true;
              await this.#advance(queue, task);
              await turn();
            }
            if (queue.length === 0) model.lanes.delete(lane);
          }
          if (model.lanes.size === 0 && model.unloads.length > 0) this.#free(number, model);
        }
      }
    } finally {
      this.#working = false;
    }
  }

  /** One budget of work on the first task of a lane. */
  async #advance(queue: Task[], task: Task): Promise<void> {
    try {
      // One that was aborted before its turn has nothing to free.
      if (!task.aborted) {
        task.run ??= task.begin();
        await task.run.step(BUDGET);
      }
      const { run } = task;
      if (task.aborted || run === undefined) {
        queue.shift();
        run?.free();
        return;
      }
      const text = run.piece();
      if (text !== '') this.#port.post({ kind: 'piece', call: task.call, text }, []);
      if (!run.done) {
        const { completed = 0 } = run;
        if (completed > task.told) {
          task.told = completed;
          this.#port.post({ kind: 'progress', call: task.call, done: completed }, []);
        }
        return;
      }
      queue.shift();
      task.run = undefined;
      const { answer, transfer } = run.finish();
      this.#answer(task.call, answer, transfer);
    } catch (thrown) {
      if (queue[0] === task) queue.shift();
      if (!isTrap(thrown)) task.run?.free();
      this.#fail(task.call, thrown);
    }
  }

  #free(number: number, { host, unloads }: Model): void {
    this.#models.delete(number);
    try {
      host.free();
      for (const call of unloads) this.#answer(call, undefined);
    } catch (thrown) {
      for (const call of unloads) this.#fail(call, thrown);
    }
  }

  #abort(call: number): void {
    const queues = [...this.#models.values()].flatMap(({ lanes }) => [...lanes.values()]);
    for (const queue of queues) {
      const place = queue.findIndex((task) => task.call === call);
      const task = queue[place];
      if (task === undefined) continue;
      // The first one may be in the middle of a step; it goes when that returns.
      if (place === 0) task.aborted = true;
      else queue.splice(place, 1);
    }
  }

  #answer(call: number, answer: Answer, transfer: ArrayBuffer[] = []): void {
    this.#port.post({ kind: 'answer', call, answer }, transfer);
  }

  #fail(call: number, thrown: unknown): void {
    if (isTrap(thrown)) {
      this.#trapped = true;
      this.#port.post({ kind: 'trap', reason: reasonOf(thrown) }, []);
      return;
    }
    const error = messageOf(thrown);
    if (error.code === 'device-lost') {
      // Every model is on the one device.
      this.#trapped = true;
      this.#port.post({ kind: 'trap', reason: error.message, code: error.code }, []);
      return;
    }
    this.#port.post({ kind: 'error', call, error }, []);
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
