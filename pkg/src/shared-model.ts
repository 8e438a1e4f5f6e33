// Models in memory: loaded once however many ask, shared by their users, loaded again after a trap.

import { abortable } from './abort.js';
import { placeOf } from './devices.js';
import { engine, type Engine } from './engine.js';
import { MultiheadError } from './errors.js';
import { ROLES, type ModelKind } from './kinds.js';
import { leastBytes, loadFiles, totalBytes } from './loader.js';
import type { Computing } from './options.js';
import type { Ask, EncoderInfo, FileMessage, TextInfo } from './protocol.js';
import type { FoundModel } from './sources.js';
import type { LoadedInfo } from './types.js';

/** A model that the worker holds, under its number there. */
export interface RunningModel {
  engine: Engine;
  number: number;
  info: LoadedInfo;
  /** Of a language model. */
  text: TextInfo | undefined;
  /** Of an encoder. */
  encoder: EncoderInfo | undefined;
}

interface Loading {
  promise: Promise<RunningModel>;
  running: RunningModel | undefined;
  stop: AbortController;
  waiting: number;
  reports: Set<(loaded: number) => void>;
  /** The last fraction reported, for those who come later. */
  loaded: number;
}

const all = new Map<string, SharedModel>();
/** Memory being freed. */
const leaving = new Set<Promise<void>>();
let nextNumber = 1;

/** So often a call is asked again on a new device: of the third one, the CPU, none is lost. */
const MOST_LOSSES = 2;

/** One model at one precision, on one number of threads. */
export class SharedModel {
  /** Stays in memory without users (because translate() used it) until unload(). */
  kept = false;
  /** As it was found by the last who asked before it was loaded: an index may have changed since. */
  found: FoundModel;
  readonly computing: Computing;
  readonly kind: ModelKind;
  readonly #key: string;
  /** Its users show it as it is now: a model may have moved to another device. */
  readonly #told = {};
  #users = 0;
  #loading: Loading | undefined;

  private constructor(kind: ModelKind, found: FoundModel, computing: Computing, key: string) {
    this.kind = kind;
    this.found = found;
    this.computing = computing;
    this.#key = key;
  }

  /** The one for these files and this way to compute; counts as a user until `release()`. */
  static use(kind: ModelKind, found: FoundModel, computing: Computing): SharedModel {
    const { device, precision, threads, kvCache = '' } = computing;
    const key = `${kind} ${device} ${precision} ${threads} ${kvCache} ${found.key}`;
    const model = all.get(key) ?? new SharedModel(kind, found, computing, key);
    all.set(key, model);
    if (model.#loading === undefined) model.found = found;
    model.#users++;
    return model;
  }

  static every(): SharedModel[] {
    return [...all.values()];
  }

  /** What is known of it once it is loaded. */
  get info(): LoadedInfo | undefined {
    return this.#loading?.running?.info;
  }

  get bytes(): number {
    return leastBytes(this.found);
  }

  /** Bytes that it takes or is about to take. */
  get #taken(): number {
    return this.#loading === undefined ? 0 : this.bytes;
  }

  /** One user less. The last one frees the memory, unless the model is kept. */
  release(): void {
    this.#users--;
    // A worker that dies meanwhile has freed it as well.
    if (this.#users === 0 && !this.kept) this.unload().catch(() => undefined);
  }

  /** Loaded and running. Loads it where it is not; the signal stops this call only, the last caller's also the work. */
  async ready(signal?: AbortSignal, report?: (loaded: number) => void): Promise<RunningModel> {
    signal?.throwIfAborted();
    const here = this.#loading?.running;
    if (here?.engine.alive === true) {
      report?.(1);
      return here;
    }
    if (here !== undefined) this.#loading = undefined;
    const loading = (this.#loading ??= this.#load());
    loading.waiting++;
    if (report !== undefined) {
      loading.reports.add(report);
      report(loading.loaded);
    }
    let running: RunningModel;
    try {
      running = await abortable(loading.promise, signal);
    } finally {
      loading.waiting--;
      if (report !== undefined) loading.reports.delete(report);
      if (loading.waiting === 0 && loading.running === undefined) {
        loading.stop.abort(new DOMException('nobody waits for the model any more', 'AbortError'));
        if (this.#loading === loading) this.#loading = undefined;
      }
    }
    signal?.throwIfAborted();
    // Unloaded just now, or its worker died.
    return this.#loading === loading && running.engine.alive ? running : this.ready(signal, report);
  }

  /**
   * Asks it as soon as it is loaded and running, and again where it was unloaded between both, or its GPU is lost before
   * anything of the answer was told: `ask` hands pieces of it to what it is given, which hands them on to `piece`.
   */
  async asked<T>(
    signal: AbortSignal | undefined,
    ask: (running: RunningModel, tell: (text: string) => void) => Promise<T>,
    piece?: (text: string) => void,
  ): Promise<T> {
    let isTold = false;
    const tell = (text: string): void => {
      isTold = true;
      piece?.(text);
    };
    for (let losses = 0; ;) {
      const running = await this.ready(signal);
      if (this.#loading?.running !== running || !running.engine.alive) continue;
      try {
        return await ask(running, tell);
      } catch (thrown) {
        const isLost = thrown instanceof MultiheadError && thrown.code === 'device-lost';
        if (!isLost || ++losses > MOST_LOSSES || isTold) throw thrown;
      }
    }
  }

  /** Frees its memory once its open calls are done. Its users load it again when they call. */
  unload(): Promise<void> {
    const work = this.#free();
    leaving.add(work);
    const forget = (): void => {
      leaving.delete(work);
    };
    work.then(forget, forget);
    return work;
  }

  /** Resolves once what is being freed now is gone. */
  static async left(): Promise<void> {
    await Promise.allSettled(leaving);
  }

  async #free(): Promise<void> {
    const loading = this.#loading;
    this.#loading = undefined;
    this.kept = false;
    if (this.#users === 0) all.delete(this.#key);
    const { running } = loading ?? {};
    if (running === undefined) loading?.stop.abort(new DOMException('the model was unloaded', 'AbortError'));
    else await running.engine.unload(running.number);
  }

  #load(): Loading {
    const loading: Loading = {
      promise: Promise.reject(new Error('not started')),
      running: undefined,
      stop: new AbortController(),
      waiting: 0,
      reports: new Set(),
      loaded: 0,
    };
    loading.promise.catch(() => undefined);
    loading.promise = this.#start(loading);
    loading.promise.catch(() => {
      if (this.#loading === loading) this.#loading = undefined;
    });
    return loading;
  }

  /** `fault` is what the last try has failed with. */
  async #start(loading: Loading, fault?: unknown): Promise<RunningModel> {
    const { threads, device: _, ...options } = this.computing;
    // What is of another kind is not downloaded.
    ROLES[this.kind](this.found.id, this.found.files);
    const number = nextNumber++;
    const { reason, gpu } = await placeOf(this.kind, this.computing, totalBytes(this.found), fault);
    const start = (): Engine => {
      const started = gpu === undefined ? engine(this.kind, threads) : engine('gpu', 1, gpu.spawn);
      started.models.add(number);
      return started;
    };
    // The worker gets ready while the files come.
    let worker = start();
    try {
      // What is there for the first time takes long the first time: the last tenth is to warm a GPU up.
      const share = gpu === undefined ? 1 : 0.9;
      const report = (fraction: number): void => {
        loading.loaded = fraction;
        for (const tell of loading.reports) tell(fraction);
      };
      const files = await this.#files(loading, (fraction) => {
        report(share * fraction);
      });
      if (!worker.alive && gpu === undefined) worker = start();
      const { signal } = loading.stop;
      const ask = { model: number, files, options };
      const progress = (hundredths: number): void => {
        report(share + ((1 - share) * hundredths) / 100);
      };
      const loaded = await worker.request('load', ask, { signal, progress, transfer: buffersOf(files) });
      report(1);
      const info = Object.assign(this.#told, {
        device: gpu === undefined ? 'cpu' : 'webgpu',
        deviceReason: [gpu === undefined ? loaded.computes : '', reason].filter(Boolean).join('; '),
        precision: gpu === undefined ? loaded.precision : 'float32',
      } satisfies LoadedInfo);
      const { text, encoder } = loaded;
      loading.running = { engine: worker, number, info, text, encoder };
      return loading.running;
    } catch (thrown) {
      // The worker may have it already when an abort crosses its answer.
      void worker.unload(number).catch(() => undefined);
      if (gpu?.isOver(thrown, worker.alive) === true) return this.#start(loading, thrown);
      throw thrown;
    }
  }

  async #files(loading: Loading, report: (fraction: number) => void): Promise<Ask<'load'>['files']> {
    const { signal } = loading.stop;
    const loaded = await loadFiles(
      this.found,
      signal,
      report,
      () => SharedModel.every().reduce((sum, other) => sum + (other === this ? 0 : other.#taken), 0),
      this.computing.threads,
    );
    const roles = ROLES[this.kind](this.found.id, loaded);
    const files = Object.entries(roles).map(([role, { name, data }]): [string, FileMessage] => [
      role,
      { name, data },
    ]);
    signal.throwIfAborted();
    return Object.fromEntries(files) as unknown as Ask<'load'>['files'];
  }
}

/** Gives what a user holds the members of {@link LoadedInfo}, as they are whenever they are asked. */
export function show(target: object, info: LoadedInfo): void {
  for (const name of ['device', 'deviceReason', 'precision'] as const) {
    Object.defineProperty(target, name, { enumerable: true, get: () => info[name] });
  }
}

/** Buffers that go over to the worker; Blobs are shared as they are. */
function buffersOf(files: Ask<'load'>['files']): ArrayBuffer[] {
  return Object.values(files).flatMap(({ data }: FileMessage) =>
    data instanceof Uint8Array ? [data.buffer] : [],
  );
}
