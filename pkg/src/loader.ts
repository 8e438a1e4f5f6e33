// All files of a model: from the cache, the network or the caller, with one progress over all of them.

import { either } from './abort.js';
import * as cache from './cache.js';
import { configuration } from './configure.js';
import { isGzip, sizeOf, type FileData } from './content.js';
import { fetchFile } from './download.js';
import { MultiheadError, reasonOf } from './errors.js';
import type { Shelf } from './parts.js';
import { platform } from './platform.js';
import { probe } from './probe.js';
import type { FoundModel, SourceFile } from './sources.js';
import type { Availability } from './types.js';

export interface LoadedFile {
  name: string;
  role?: string;
  data: FileData;
}

/** Bytes of memory that a wasm module can have: what it addresses by 32 bits; the one with threads, what it is built for. */
const WASM_LIMIT = 2 ** 32;
const THREADS_LIMIT = 2 ** 31;

/** Models being downloaded now, by key. */
const downloading = new Map<string, number>();

/** Bytes of all files, or undefined while one of them is unknown. */
export function totalBytes({ files }: FoundModel): number | undefined {
  return sum(files.map(({ bytes }) => bytes));
}

/** Bytes that the files take at the least: what a file that no index describes takes is known once it is here. */
export function leastBytes({ files }: FoundModel): number {
  const parts = files.map(({ loadedBytes, bytes, transferBytes: told }) => loadedBytes ?? bytes ?? told ?? 0);
  return sum(parts) ?? 0;
}

/** Bytes that are transferred for all files: those of the gzip file where there is one. */
export function transferBytes({ files }: FoundModel): number | undefined {
  return sum(files.map(transferOf));
}

function transferOf({ origin, bytes, gzipBytes, transferBytes: told }: SourceFile): number | undefined {
  return origin instanceof Blob ? 0 : (gzipBytes ?? bytes ?? told);
}

/** Asks the servers for the sizes that nobody knows, so that the progress has its total before it begins. */
async function ask({ files }: FoundModel, signal: AbortSignal): Promise<Map<SourceFile, Shelf>> {
  const shelves = await Promise.all(
    files.map(async (file) => {
      const shelf = await shelfOf(file, signal);
      if (file.origin instanceof Blob || transferOf(file) !== undefined || isVersioned(file)) return shelf;
      // What is wrong with the file is for the download to say.
      const bytes = (await probe(file.origin, signal).catch(() => undefined))?.bytes;
      if (bytes !== undefined) file.transferBytes = bytes;
      return shelf;
    }),
  );
  return new Map(files.map((file, place) => [file, shelves[place] ?? shelfAt()]));
}

/** Whether a file is kept by what the server says of its version. */
function isVersioned({ name, sha256, pinned }: SourceFile): boolean {
  return sha256 === undefined && pinned === undefined && VERSIONED.test(name);
}

/** Names of the files that language models and encoders have; those of translation models may be of any. */
const VERSIONED = /\.(gguf|safetensors|json)$/i;

/**
 * The place of a file in the cache as it is now, where it can be kept: by its hash, or, of a file whose hash nobody
 * knows, by what the server says of its version. A server that cannot be reached leaves it at what is kept.
 */
async function shelfOf(file: SourceFile, signal?: AbortSignal): Promise<Shelf> {
  const { origin, sha256, keptAs, pinned } = file;
  if (origin instanceof Blob) return shelfAt();
  const place = keptAs ?? origin;
  if (sha256 !== undefined) return shelfAt(cache.cacheKey(place, sha256));
  if (pinned !== undefined) return versioned(place, pinned);
  if (!isVersioned(file)) return shelfAt();
  try {
    const there = await probe(origin, signal);
    if (there?.bytes !== undefined) file.transferBytes = there.bytes;
    return versioned(place, there?.version);
  } catch {
    signal?.throwIfAborted();
    return shelfAt(await cache.keptVersion(place));
  }
}

function shelfAt(key?: string, version?: string): Shelf {
  return { key, version, count: 0 };
}

function versioned(place: URL, version: string | undefined): Shelf {
  return version === undefined ? shelfAt() : shelfAt(cache.versionKey(place, version), version);
}

function sum(parts: readonly (number | undefined)[]): number | undefined {
  let total = 0;
  for (const part of parts) {
    if (part === undefined) return undefined;
    total += part;
  }
  return total;
}

/** Rejects a model that memory has no room for, as far as its size is known. */
function checkLimit(model: FoundModel, beside: number, threads: number): void {
  const { memoryLimit: limit } = configuration();
  const size = leastBytes(model);
  const room = threads > 1 ? THREADS_LIMIT : WASM_LIMIT;
  if (size >= room) {
    const alone = size < WASM_LIMIT ? ', or threads: 1, which has twice as much' : '';
    throw new MultiheadError(
      `${model.id} has ${size} bytes, WebAssembly's memory at most ${room}. Use a smaller model, the same one quantised to fewer bits${alone}`,
      { code: 'out-of-memory', option: 'model' },
    );
  }
  if (limit === undefined || size + beside <= limit) return;
  const others = beside > 0 ? ` and the others ${beside}` : '';
  throw new MultiheadError(
    `${model.id} has ${size} bytes${others}, memoryLimit is ${limit}. Use a smaller model, unload() others or raise the limit`,
    { code: 'out-of-memory', option: 'memoryLimit' },
  );
}

/**
 * Loads every file. `progress` gets the fraction of all bytes to transfer, from 0 to 1; `beside` says the bytes that
 * other models take, `threads` how many are to compute.
 */
export async function loadFiles(
  model: FoundModel,
  signal: AbortSignal,
  progress: (loaded: number) => void,
  beside: () => number,
  threads = 1,
): Promise<LoadedFile[]> {
  checkLimit(model, beside(), threads);
  // Of two whose sizes are known the first has its room from here on; the other is gone in a moment.
  const isKnown = totalBytes(model) !== undefined;
  let total: number | undefined;
  const received = new Map<SourceFile, number>();
  const report = (file: SourceFile, bytes: number): void => {
    received.set(file, bytes);
    if (total !== undefined && total > 0) progress(Math.min((sum([...received.values()]) ?? 0) / total, 1));
  };
  // The first failure stops the other files.
  const stop = new AbortController();
  progress(0);
  downloading.set(model.key, (downloading.get(model.key) ?? 0) + 1);
  try {
    return await either(signal, stop.signal, async (both) => {
      try {
        const shelves = await ask(model, both);
        both.throwIfAborted();
        if (!isKnown) checkLimit(model, beside(), threads);
        total = transferBytes(model);
        const files = await Promise.all(
          model.files.map((file) =>
            loadFile(file, shelves.get(file) ?? shelfAt(), both, (bytes) => {
              report(file, bytes);
            }),
          ),
        );
        checkLimit(model, beside(), threads);
        progress(1);
        return files;
      } catch (thrown) {
        stop.abort();
        throw thrown;
      }
    });
  } catch (thrown) {
    const isOutdated =
      thrown instanceof MultiheadError &&
      (thrown.code === 'model-corrupt' || thrown.code === 'model-not-found');
    if (isOutdated) model.forget?.();
    throw thrown;
  } finally {
    const others = (downloading.get(model.key) ?? 1) - 1;
    if (others === 0) downloading.delete(model.key);
    else downloading.set(model.key, others);
  }
}

async function loadFile(
  file: SourceFile,
  shelf: Shelf,
  signal: AbortSignal,
  progress: (bytes: number) => void,
): Promise<LoadedFile> {
  const { origin } = file;
  const named = { name: file.name, ...(file.role === undefined ? {} : { role: file.role }) };
  if (origin instanceof Blob) {
    const data = await readable(await unpacked(file.name, origin)).catch((cause: unknown) => {
      throw unreadable(file.name, cause);
    });
    file.loadedBytes = sizeOf(data);
    return { ...named, data };
  }
  const kept = shelf.key === undefined ? undefined : await cache.get(shelf.key);
  signal.throwIfAborted();
  if (kept !== undefined && kept.size === (file.bytes ?? kept.size)) {
    // What lies behind it may have been cleared away; then it is as if it had not been kept.
    const data = await readable(kept).catch(() => undefined);
    if (data !== undefined) {
      progress(transferOf(file) ?? kept.size);
      file.loadedBytes = kept.size;
      return { ...named, data };
    }
  }
  // By then the file may be another than the one that was asked about.
  const answered = (version: string | undefined): void => {
    const there = versioned(file.keptAs ?? origin, version);
    if (there.key !== shelf.key) Object.assign(shelf, there);
  };
  const wanted = { ...file, url: origin, shelf, ...(isVersioned(file) ? { answered } : {}) };
  const data = await fetchFile(wanted, signal, progress);
  file.loadedBytes = sizeOf(data);
  // Less than was announced, without a fault of the connection: if it is whole all the same, it does for this load.
  if (sizeOf(data) < (file.transferBytes ?? 0)) shelf.key = undefined;
  const isShelved = shelf.count > 0;
  if (isShelved) await (await import('./parts.js')).seal(shelf, sizeOf(data));
  const copy = shelf.key === undefined || isShelved ? data : await cache.keep(shelf.key, data);
  return { ...named, data: await readable(copy).catch(() => data) };
}

/** In the form that the platform's worker reads soonest. */
async function readable(data: FileData): Promise<FileData> {
  return data instanceof Blob ? platform().readable(data) : data;
}

function unreadable(name: string, cause: unknown): MultiheadError {
  return new MultiheadError(`${name}: the file given cannot be read: ${reasonOf(cause)}`, {
    code: 'download-failed',
    file: name,
    cause,
  });
}

/** The content of a Blob of the caller, which may be that of a gzip file. */
async function unpacked(name: string, blob: Blob): Promise<Blob> {
  let head: Uint8Array;
  try {
    head = new Uint8Array(await blob.slice(0, 3).arrayBuffer());
  } catch (cause) {
    // A file that was changed or moved after it was chosen.
    throw unreadable(name, cause);
  }
  if (!isGzip(head)) return blob;
  try {
    return await new Response(blob.stream().pipeThrough(new DecompressionStream('gzip'))).blob();
  } catch (cause) {
    throw new MultiheadError(`${name}: the gzip file given is damaged: ${reasonOf(cause)}`, {
      code: 'model-corrupt',
      file: name,
      cause,
    });
  }
}

/** Whether every file can be had without its server having to send it. */
export async function isKept({ files }: FoundModel): Promise<boolean> {
  const kept = await Promise.all(
    files.map(async (file) => {
      if (file.origin instanceof Blob) return true;
      const { key } = await shelfOf(file);
      return key !== undefined && cache.has(key);
    }),
  );
  return kept.every(Boolean);
}

/** Removes what is kept of the files, in whatever version; whether there was anything. */
export async function removeKept({ files }: FoundModel): Promise<boolean> {
  const addresses = files.flatMap(({ origin, keptAs }) => (origin instanceof Blob ? [] : [keptAs ?? origin]));
  const removed = await Promise.all(addresses.map(cache.remove));
  return removed.some(Boolean);
}

/** Of all these models together. */
export async function availabilityOf(models: readonly FoundModel[]): Promise<Availability> {
  if (models.some(({ key }) => downloading.has(key))) return 'downloading';
  const kept = await Promise.all(models.map(isKept));
  return kept.every(Boolean) ? 'available' : 'downloadable';
}
