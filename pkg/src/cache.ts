// Cache Storage for model files. Only files whose hash was checked come in. Nothing here can fail a load:
// private windows, full disks and blocked storage cost a warning, once.

import { configuration } from './configure.js';
import { sizeOf, type FileData } from './content.js';
import { reasonOf } from './errors.js';

const NAME = 'multihead-models';

let warned = false;

function warn(thrown: unknown): void {
  if (warned) return;
  warned = true;
  // oxlint-disable-next-line no-console -- the one place where a fault is not the caller's to handle
  console.warn(`multihead: models are not kept for the next visit (${reasonOf(thrown)})`);
}

async function attempt<T>(work: (cache: Cache) => Promise<T>): Promise<T | undefined> {
  if (configuration().cache === 'none' || typeof caches === 'undefined') return undefined;
  try {
    return await work(await caches.open(NAME));
  } catch (thrown) {
    warn(thrown);
    return undefined;
  }
}

/** The cache's key of a file: its address and the hash of its content. */
export function cacheKey(url: URL, sha256: string): string {
  const key = new URL(url);
  key.hash = '';
  key.searchParams.set('sha256', sha256);
  return key.href;
}

export async function has(key: string): Promise<boolean> {
  return (await attempt(async (cache) => (await cache.match(key)) !== undefined)) ?? false;
}

/** The file, or undefined; a Blob that stands on the disk where the browser does that. */
export function get(key: string): Promise<Blob | undefined> {
  return attempt(async (cache) => (await cache.match(key))?.blob());
}

/** Keeps the file. Instead of a Blob it returns the kept copy, so that the downloaded one can leave memory. A write that fails keeps nothing. */
export async function keep(key: string, data: FileData): Promise<FileData> {
  const size = sizeOf(data);
  const kept = await attempt(async (cache) => {
    await cache.put(key, new Response(data, { headers: { 'content-length': String(size) } }));
    return data instanceof Blob ? (await cache.match(key))?.blob() : undefined;
  });
  return kept?.size === size ? kept : data;
}

export async function remove(key: string): Promise<boolean> {
  return (await attempt((cache) => cache.delete(key))) ?? false;
}
