// Cache Storage for model files, of which only those come in whose hash was checked, and for the index that they are
// checked by, as it was at the last visit. Nothing here can fail a load: private windows, full disks and blocked
// storage cost a warning, once.

import { configuration } from './configure.js';
import { sizeOf, type FileData } from './content.js';
import { reasonOf } from './errors.js';

const NAME = 'multihead-models';

/** The query parameter of a key that holds the hash. */
const HASH = 'sha256';

let warned = false;

function warn(thrown: unknown): void {
  if (warned) return;
  warned = true;
  // oxlint-disable-next-line no-console -- the one place where a fault is not the caller's to handle
  console.warn(`multihead: models are not kept for the next visit (${reasonOf(thrown)})`);
}

/** Does something with the cache; undefined where there is none or it fails. */
export async function attempt<T>(work: (cache: Cache) => Promise<T>): Promise<T | undefined> {
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
  key.searchParams.set(HASH, sha256);
  return key.href;
}

/** The query parameter of the key of a part. */
const PART = 'multihead-part';

/** The header of a file in parts: how many, and the bytes of all. */
export const SEALED = 'multihead-parts';

/** The key of a part of a file. */
export function partKey(key: string, index: number): string {
  return `${key}&${PART}=${index}`;
}

/** What the keys of one address have in common, whatever its content. */
function addressOf(url: URL | string): string {
  const address = new URL(url);
  address.hash = '';
  // Also for a query that is written otherwise than keys are.
  address.searchParams.set(HASH, '');
  address.searchParams.delete(PART);
  return address.href;
}

/** Removes every version of the file of the address `of` but that of the key `but`; whether there was one. */
export async function removeVersions(cache: Cache, of: URL | string, but?: string): Promise<boolean> {
  const address = addressOf(of);
  let any = false;
  for (const { url } of await cache.keys()) {
    const stays = but !== undefined && (url === but || url.startsWith(`${but}&`));
    if (!stays && addressOf(url) === address) any = (await cache.delete(url)) || any;
  }
  return any;
}

/** The cache's key of a file whose hash nobody knows: its address and what the server says of its version. */
export function versionKey(url: URL, version: string): string {
  return cacheKey(url, `version ${version}`);
}

/** The key of the list of a folder's files. */
export function listingKey(place: URL): string {
  return cacheKey(place, 'folder');
}

/** The key of whatever version of the file at the address is kept. */
export function keptVersion(url: URL): Promise<string | undefined> {
  return attempt(async (cache) => {
    const keys = await cache.keys();
    return keys.find((key) => !key.url.includes(PART) && addressOf(key.url) === addressOf(url))?.url;
  });
}

export async function has(key: string): Promise<boolean> {
  return (await attempt(async (cache) => (await cache.match(key)) !== undefined)) ?? false;
}

/** The file, or undefined; a Blob that stands on the disk where the browser does that. */
export function get(key: string): Promise<Blob | undefined> {
  return attempt(async (cache) => {
    const response = await cache.match(key);
    const [count, size] = (response?.headers.get(SEALED) ?? '').split(' ').map(Number);
    if (!count) return response?.blob();
    const parts: Blob[] = [];
    while (parts.length < count) {
      const part = await (await cache.match(partKey(key, parts.length)))?.blob();
      if (part === undefined) return undefined;
      parts.push(part);
    }
    const whole = new Blob(parts);
    return whole.size === size ? whole : undefined;
  });
}

/**
 * Keeps the file, in the place of other versions of it. Instead of a Blob it returns the kept copy, so that the
 * downloaded one can leave memory. A write that fails keeps nothing.
 */
export async function keep(key: string, data: FileData): Promise<FileData> {
  const size = sizeOf(data);
  const kept = await attempt(async (cache) => {
    await cache.put(key, new Response(data, { headers: { 'content-length': String(size) } }));
    // One that stays takes room, no more.
    await removeVersions(cache, key, key).catch(() => undefined);
    return data instanceof Blob ? (await cache.match(key))?.blob() : undefined;
  });
  return kept?.size === size ? kept : data;
}

/** Removes whatever is kept of the file at the address; whether anything was. */
export async function remove(url: URL): Promise<boolean> {
  return (await attempt((cache) => removeVersions(cache, url))) ?? false;
}
