// All files of a model: from the cache, the network or the caller, with one progress over all of them.

import * as cache from './cache.js';
import { configuration } from './configure.js';
import { isGzip, type FileData } from './content.js';
import { fetchFile } from './download.js';
import { MultiheadError, reasonOf } from './errors.js';
import { probe } from './probe.js';
import type { FoundModel, SourceFile } from './sources.js';
import type { Availability } from './types.js';

export interface LoadedFile {
  name: string;
  role?: string;
  data: FileData;
}

/** Models being downloaded now, by key. */
const downloading = new Map<string, number>();

/** Bytes of all files, or undefined while one of them is unknown. */
export function totalBytes({ files }: FoundModel): number | undefined {
  return sum(files.map(({ bytes }) => bytes));
}

/** Bytes that are transferred for all files: those of the gzip file where there is one. */
export function transferBytes({ files }: FoundModel): number | undefined {
  return sum(files.map(transferOf));
}

function transferOf({ origin, bytes, gzipBytes, transferBytes: told }: SourceFile): number | undefined {
  return origin instanceof Blob ? 0 : (gzipBytes ?? bytes ?? told);
}

/** Asks the servers for the sizes that nobody knows, so that the progress has its total before it begins. */
async function ask({ files }: FoundModel, signal: AbortSignal): Promise<void> {
  await Promise.all(
    files.map(async (file) => {
      if (file.origin instanceof Blob || transferOf(file) !== undefined) return;
      // What is wrong with the file is for the download to say.
      const bytes = (await probe(file.origin, signal).catch(() => undefined))?.bytes;
      if (bytes !== undefined) file.transferBytes = bytes;
    }),
  );
}

function sum(parts: readonly (number | undefined)[]): number | undefined {
  let total = 0;
  for (const part of parts) {
    if (part === undefined) return undefined;
    total += part;
  }
  return total;
}

/**
 * Loads every file. `progress` gets the fraction of all bytes to transfer, from 0 to 1; `beside` are the bytes that other
 * models take.
 */
export async function loadFiles(
  model: FoundModel,
  signal: AbortSignal,
  progress: (loaded: number) => void,
  beside = 0,
): Promise<LoadedFile[]> {
  const size = totalBytes(model);
  const limit = configuration().memoryLimit;
  if (limit !== undefined && size !== undefined && size + beside > limit) {
    const others = beside > 0 ? ` and the others ${beside}` : '';
    throw new MultiheadError(
      `${model.id} has ${size} bytes${others}, memoryLimit is ${limit}. Use a smaller model, unload() others or raise the limit`,
      { code: 'out-of-memory', option: 'memoryLimit' },
    );
  }
  let total: number | undefined;
  const received = new Map<SourceFile, number>();
  const report = (file: SourceFile, bytes: number): void => {
    received.set(file, bytes);
    if (total !== undefined && total > 0) progress(Math.min((sum([...received.values()]) ?? 0) / total, 1));
  };
  // The first failure stops the other files.
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  progress(0);
  downloading.set(model.key, (downloading.get(model.key) ?? 0) + 1);
  try {
    await ask(model, both);
    both.throwIfAborted();
    total = transferBytes(model);
    const files = await Promise.all(
      model.files.map((file) =>
        loadFile(file, both, (bytes) => {
          report(file, bytes);
        }),
      ),
    );
    progress(1);
    return files;
  } catch (thrown) {
    stop.abort();
    throw thrown;
  } finally {
    const others = (downloading.get(model.key) ?? 1) - 1;
    if (others === 0) downloading.delete(model.key);
    else downloading.set(model.key, others);
  }
}

async function loadFile(
  file: SourceFile,
  signal: AbortSignal,
  progress: (bytes: number) => void,
): Promise<LoadedFile> {
  const { origin, sha256 } = file;
  const named = { name: file.name, ...(file.role === undefined ? {} : { role: file.role }) };
  if (origin instanceof Blob) return { ...named, data: await unpacked(file.name, origin) };
  const key = sha256 === undefined ? undefined : cache.cacheKey(origin, sha256);
  const kept = key === undefined ? undefined : await cache.get(key);
  signal.throwIfAborted();
  if (kept !== undefined && kept.size === file.bytes) {
    progress(transferOf(file) ?? kept.size);
    return { ...named, data: kept };
  }
  const data = await fetchFile({ ...file, url: origin }, signal, progress);
  return { ...named, data: key === undefined ? data : await cache.keep(key, data) };
}

/** The content of a Blob of the caller, which may be that of a gzip file. */
async function unpacked(name: string, blob: Blob): Promise<Blob> {
  const head = new Uint8Array(await blob.slice(0, 3).arrayBuffer());
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

/** The cache's keys of the files that can be kept. */
function cacheKeys({ files }: FoundModel): string[] {
  return files.flatMap(({ origin, sha256 }) =>
    origin instanceof Blob || sha256 === undefined ? [] : [cache.cacheKey(origin, sha256)],
  );
}

/** Whether every file can be had without the network. */
export async function isKept(model: FoundModel): Promise<boolean> {
  const keys = cacheKeys(model);
  const given = model.files.filter(({ origin }) => origin instanceof Blob).length;
  if (keys.length + given < model.files.length) return false;
  const kept = await Promise.all(keys.map(cache.has));
  return kept.every(Boolean);
}

/** Removes the kept files; whether there were any. */
export async function removeKept(model: FoundModel): Promise<boolean> {
  const removed = await Promise.all(cacheKeys(model).map(cache.remove));
  return removed.some(Boolean);
}

/** Of all these models together. */
export async function availabilityOf(models: readonly FoundModel[]): Promise<Availability> {
  if (models.some(({ key }) => downloading.has(key))) return 'downloading';
  const kept = await Promise.all(models.map(isKept));
  return kept.every(Boolean) ? 'available' : 'downloadable';
}
