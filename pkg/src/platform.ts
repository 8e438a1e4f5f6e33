// What differs between a browser and Node: how a worker starts, and what addresses are relative to.

import { AT_ONCE, type FileData } from './content.js';
import type { FromWorker, ToWorker } from './protocol.js';

/** What a worker can do: each kind of models has a wasm of its own, so that a page fetches what it asks for. */
export type Family = 'translation' | 'text' | 'encoder';

/** Starts a worker; `url` overrides its own script. */
export type Spawn = (family: Family | 'gpu', events: WorkerEvents, url: URL | undefined) => WorkerPort;

/** A running worker, seen from the page. */
export interface WorkerPort {
  post(message: ToWorker, transfer: ArrayBuffer[]): void;
  end(): void;
}

/** What a worker tells the page: its messages, or that it could not start or has died. */
export interface WorkerEvents {
  message(message: FromWorker): void;
  /** `reason` is for people; nothing comes after it. */
  dead(reason: string): void;
}

export interface Platform {
  /** The address that relative addresses start from. */
  base(): string;
  /** Default of `modelBase`. */
  readonly models: string;
  /** Starts the family's worker; `url` overrides its own script. No platform starts that of GPUs by itself. */
  readonly spawn: Spawn;
  /** Whether workers may share memory, and how many of them run at once. */
  sharing(): { isolated: boolean; cores: number };
  readonly fetch: (url: URL, init: RequestInit) => Promise<Response>;
  /** Tells a platform that warns of many listeners that they are meant: one for each open call. */
  manyListen?(signal: AbortSignal): void;
  /** Longest file that is held as bytes while it comes. */
  readonly atOnce: number;
  /** A Blob in the form that this platform's worker reads by ranges, soonest. */
  readable(blob: Blob): Promise<FileData>;
}

function start(family: Family | 'gpu', url: URL | undefined): Worker {
  if (url !== undefined) return new Worker(url, { type: 'module', name: 'multihead' });
  // The literal form is what bundlers look for; webpack makes one script of workers of one name.
  if (family === 'text') {
    return new Worker(new URL('./text-worker.js', import.meta.url), {
      type: 'module',
      name: 'multihead-text',
    });
  }
  return family === 'translation'
    ? new Worker(new URL('./worker.js', import.meta.url), { type: 'module', name: 'multihead' })
    : new Worker(new URL('./encoder-worker.js', import.meta.url), {
        type: 'module',
        name: 'multihead-encoder',
      });
}

/** A worker as the page speaks with it; `where` says where its script is. */
export function spawnWorker(worker: Worker, events: WorkerEvents, where: string): WorkerPort {
  worker.addEventListener('message', ({ data }: MessageEvent<FromWorker>) => {
    events.message(data);
  });
  worker.addEventListener('messageerror', () => {
    events.dead('what it said could not be read');
  });
  worker.addEventListener('error', (event) => {
    event.preventDefault();
    events.dead(event.message || `${where} could not be loaded; see configure({ workerUrl })`);
  });
  return {
    post: (message, transfer) => {
      worker.postMessage(message, transfer);
    },
    end: () => {
      worker.terminate();
    },
  };
}

const browser: Platform = {
  base: () => (typeof document === 'undefined' ? location.href : document.baseURI),
  models: '/models/',
  spawn(family, events, url) {
    // Its own address isn't written down once more: bundlers would take it for another file.
    const own = family === 'translation' ? 'worker.js' : `${family}-worker.js`;
    return spawnWorker(start(family, url), events, url?.href ?? `the package's ${own}`);
  },
  sharing: () => ({ isolated: globalThis.crossOriginIsolated, cores: navigator.hardwareConcurrency }),
  fetch: (url, init) => fetch(url, init),
  atOnce: AT_ONCE,
  // A worker waits for each range that it reads of a Blob. Where memory is no question, all of it goes over at once,
  // to be let go of as soon as the model is loaded: that takes half the time.
  readable: async (blob) => (blob.size > AT_ONCE ? blob : new Uint8Array(await blob.arrayBuffer())),
};

let current = browser;

export function platform(): Platform {
  return current;
}

/** Set once by the entry for Node. */
export function usePlatform(other: Platform): void {
  current = other;
}
