// A content that is too long to be held as bytes: part by part in Cache Storage as it comes, so that it is never in memory
// as a whole, else in Blobs. Sealed once the whole was checked; parts that were not are where a later download of the same
// version goes on.

import { attempt, partKey, removeVersions, SEALED } from './cache.js';
import { Sha256 } from './sha256-streaming.js';

/** How much is taken together. Tests take less. */
export const lengths = {
  /** Bytes that are gathered into a Blob, which lies in another process. */
  gathered: 4 * 1024 * 1024,
  /** Bytes of a part. */
  part: 32 * 1024 * 1024,
};

/** The place of one version of a file. */
export interface Shelf {
  /** The cache's key; undefined where there is none, and nothing is kept. */
  key: string | undefined;
  /** What the server says of the version, where no hash tells it. */
  version: string | undefined;
  /** Parts of the download under way that are here. */
  count: number;
}

/** Chunks as they come, moved into Blobs and those onto the shelf, where there is one. */
export class Parts {
  length = 0;
  readonly #shelf: Shelf | undefined;
  readonly #hash: Sha256 | undefined;
  readonly #parts: Blob[] = [];
  #gathered: Blob[] = [];
  #gatheredLength = 0;
  #loose: Uint8Array<ArrayBuffer>[] = [];
  #looseLength = 0;

  constructor(shelf: Shelf | undefined, hashed: boolean) {
    this.#shelf = shelf;
    this.#hash = hashed ? new Sha256() : undefined;
    if (shelf !== undefined) shelf.count = 0;
  }

  /** Takes the parts that a download left which did not come to its end. */
  async restore(): Promise<void> {
    const shelf = this.#shelf;
    if (shelf?.key === undefined) return;
    for (;;) {
      const part = await stored(shelf.key, shelf.count);
      // One whose write broke off.
      if (part === undefined || part.size === 0) return;
      const reader = part.stream().getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        this.#hash?.update(value);
      }
      shelf.count = this.#parts.push(part);
      this.length += part.size;
    }
  }

  async add(chunk: Uint8Array<ArrayBuffer>): Promise<void> {
    this.#hash?.update(chunk);
    this.#loose.push(chunk);
    this.#looseLength += chunk.length;
    this.length += chunk.length;
    if (this.#looseLength < lengths.gathered) return;
    this.#gather();
    if (this.#gatheredLength >= lengths.part) await this.#store();
  }

  async whole(): Promise<Blob> {
    this.#gather();
    if (this.#parts.length > 0 && this.#gatheredLength > 0) await this.#store();
    return new Blob([...this.#parts, ...this.#gathered]);
  }

  /** Hexadecimal; to be called once. */
  hash(): string | undefined {
    return this.#hash?.digest();
  }

  #gather(): void {
    this.#gathered.push(new Blob(this.#loose));
    this.#gatheredLength += this.#looseLength;
    this.#loose = [];
    this.#looseLength = 0;
  }

  /** Puts what is gathered onto the shelf; the copy there stands on the disk, and memory is free of it. */
  async #store(): Promise<void> {
    const part = new Blob(this.#gathered);
    this.#gathered = [];
    this.#gatheredLength = 0;
    this.#parts.push((await put(this.#shelf, this.#parts.length, part)) ?? part);
  }
}

async function put(shelf: Shelf | undefined, index: number, part: Blob): Promise<Blob | undefined> {
  const key = shelf?.key;
  if (shelf === undefined || key === undefined) return undefined;
  await attempt((cache) => cache.put(partKey(key, index), new Response(part)));
  const copy = await stored(key, index);
  if (copy?.size === part.size) {
    shelf.count = index + 1;
    return copy;
  }
  // A file with a gap is none; what was put away stays readable for this load.
  await clear(shelf);
  shelf.key = undefined;
  return undefined;
}

function stored(key: string, index: number): Promise<Blob | undefined> {
  return attempt(async (cache) => (await cache.match(partKey(key, index)))?.blob());
}

/** Keeps the file of which all parts are on the shelf, and which was checked, in the place of other versions of it. */
export async function seal({ key, count }: Shelf, size: number): Promise<void> {
  if (key === undefined) return;
  await attempt(async (cache) => {
    await cache.put(key, new Response(null, { headers: { [SEALED]: `${count} ${size}` } }));
    await removeVersions(cache, key, key).catch(() => undefined);
  });
}

/** Removes the parts. */
export async function clear(shelf: Shelf): Promise<void> {
  const { key, count } = shelf;
  shelf.count = 0;
  if (key === undefined) return;
  await attempt(async (cache) => {
    for (let index = 0; index < count; index++) await cache.delete(partKey(key, index));
  });
}
