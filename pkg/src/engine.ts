// One worker and its open calls, seen from the page.

import { listening } from './abort.js';
import { absolute, configuration, folderAddress } from './configure.js';
import { fromMessage, MultiheadError, reasonOf } from './errors.js';
import { platform, type Family, type Spawn, type WorkerPort } from './platform.js';
import type { Answer, FromWorker, Kind, RequestMessage, Requests, Taken } from './protocol.js';

interface Call {
  resolve(answer: Answer): void;
  reject(reason: unknown): void;
  piece: ((text: string) => void) | undefined;
  progress: ((done: number) => void) | undefined;
}

export interface RequestOptions {
  signal?: AbortSignal | undefined;
  /** Gets the pieces of a streaming answer. */
  piece?: (text: string) => void;
  /** Gets how many of a call's texts are done. */
  progress?: ((done: number) => void) | undefined;
  transfer?: ArrayBuffer[];
}

/**
 * A worker with one wasm instance. It ends with its last model. When the wasm traps, every open call rejects
 * and the engine is over; whoever wants to go on takes a new one.
 */
export class Engine {
  /** Numbers of the models in it, loading ones included. */
  readonly models = new Set<number>();
  #over: MultiheadError | undefined;
  #nextCall = 1;
  readonly #calls = new Map<number, Call>();
  readonly #port: WorkerPort;
  readonly #ended: (engine: Engine) => void;

  /** `ended` is called once, when the worker is gone. */
  constructor(
    family: Family | 'gpu',
    threads: number,
    ended: (engine: Engine) => void,
    spawn: Spawn = platform().spawn,
  ) {
    this.#ended = ended;
    const { workerUrl, wasmBase } = configuration();
    const given = workerUrl === undefined ? undefined : absolute(workerUrl, 'workerUrl');
    // The other workers lie beside the one that translates.
    const url =
      given === undefined || family === 'translation' ? given : new URL(`${family}-worker.js`, given);
    const base = wasmBase === undefined ? undefined : folderAddress(wasmBase, 'wasmBase').href;
    const events = {
      message: (message: FromWorker): void => {
        this.#receive(message);
      },
      dead: (reason: string): void => {
        this.#end(gone(reason));
      },
    };
    try {
      this.#port = spawn(family, events, url);
    } catch (cause) {
      // Of another origin, against the page's policy, or of a kind of address that no worker comes from.
      const where = url === undefined ? "the package's worker" : `a worker of ${url.href}`;
      throw new MultiheadError(
        `${where} cannot be started: ${reasonOf(cause)}. See configure({ workerUrl })`,
        { code: 'internal', option: 'workerUrl', cause },
      );
    }
    // A worker that cannot start fails the calls that wait for it.
    this.request('start', { wasmBase: base, threads }).catch((reason: unknown) => {
      this.#end(reason instanceof MultiheadError ? reason : gone(reasonOf(reason)));
    });
  }

  /** Whether the worker still runs. */
  get alive(): boolean {
    return this.#over === undefined;
  }

  request<K extends Kind>(
    kind: K,
    ask: Requests[K]['ask'],
    { signal, piece, progress, transfer = [] }: RequestOptions = {},
  ): Promise<Requests[K]['answer']> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      if (this.#over !== undefined) throw this.#over;
      const call = this.#nextCall++;
      const stop = (): void => {
        if (!this.#calls.delete(call)) return;
        if (this.alive) this.#port.post({ kind: 'abort', call }, []);
        reject(signal?.reason as Error);
        this.#restIfIdle();
      };
      const unlisten = listening(signal, stop);
      const settle =
        <T>(then: (value: T) => void) =>
        (value: T): void => {
          unlisten();
          then(value);
        };
      this.#calls.set(call, {
        resolve: settle(resolve as Call['resolve']),
        reject: settle(reject),
        piece,
        progress,
      });
      this.#port.post({ kind, call, ...ask } as RequestMessage, transfer);
    });
  }

  /** Takes a model out, after the calls it still has; the last one takes the worker along. */
  async unload(model: number): Promise<void> {
    if (!this.models.delete(model) || !this.alive) return;
    if (this.models.size > 0 || this.#calls.size > 0) await this.request('unload', { model });
    this.#restIfIdle();
    // Of no model can anything still be asked that takes long; with the last answer the worker ends.
    if (this.models.size === 0 && this.alive) await this.request('memory', {}).catch(() => 0);
  }

  #restIfIdle(): void {
    if (this.models.size === 0 && this.#calls.size === 0) this.#end(gone('the last model was unloaded'));
  }

  #receive(message: FromWorker): void {
    if (message.kind === 'trap') {
      const { code, reason } = message;
      this.#end(
        code === undefined
          ? gone(`WebAssembly failed (${reason}); the next call starts a new one`)
          : new MultiheadError(reason, { code }),
      );
      return;
    }
    const call = this.#calls.get(message.call);
    // Answers may cross an abort.
    if (call === undefined) return;
    if (message.kind === 'piece') {
      call.piece?.(message.text);
      return;
    }
    if (message.kind === 'progress') {
      call.progress?.(message.done);
      return;
    }
    this.#calls.delete(message.call);
    if (message.kind === 'error') call.reject(fromMessage(message.error));
    else call.resolve(message.answer);
    // The last model may have gone while this call was open.
    this.#restIfIdle();
  }

  #end(reason: MultiheadError): void {
    if (this.#over !== undefined) return;
    this.#over = reason;
    this.#port.end();
    for (const call of this.#calls.values()) call.reject(reason);
    this.#calls.clear();
    this.#ended(this);
  }
}

function gone(reason: string): MultiheadError {
  return new MultiheadError(`the worker is gone: ${reason}`, { code: 'internal' });
}

/** By what they can do and the threads that they were asked to have. */
const engines = new Map<string, Engine>();

/** The engine that models of this kind for this many threads share; started when there is none. */
export function engine(family: Family | 'gpu', threads: number, spawn?: Spawn): Engine {
  const key = `${family} ${threads}`;
  const running = engines.get(key);
  if (running !== undefined) return running;
  const ended = (over: Engine): void => {
    if (engines.get(key) === over) engines.delete(key);
  };
  const started = new Engine(family, threads, ended, spawn);
  engines.set(key, started);
  return started;
}

/** Bytes that all take now. */
export async function bytesTaken(): Promise<Taken> {
  const nothing = { wasm: 0, gpu: 0 };
  const taken = await Promise.all(
    // One that is gone, or goes meanwhile, takes none.
    [...engines.values()].map((each) => each.request('memory', {}).catch(() => nothing)),
  );
  return taken.reduce((sum, one) => ({ wasm: sum.wasm + one.wasm, gpu: sum.gpu + one.gpu }), nothing);
}
