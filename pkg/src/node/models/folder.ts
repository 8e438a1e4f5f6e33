// A folder of models as it is served: `index.json`, and a folder of files for each model. Whatever is written is
// there whole or not at all.

import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Catalogue, type CatalogueModel, isRecord, parseCatalogue } from '../../catalogue.js';
import { MultiheadError, reasonOf } from '../../errors.js';

const INDEX = 'index.json';

/** What the folder's index has; nothing where there is no index yet. A damaged index is an error. */
export async function readIndex(folder: string): Promise<Catalogue> {
  const text = await readText(join(folder, INDEX));
  return text === undefined
    ? { models: [], unreadable: [] }
    : parseCatalogue(pathToFileURL(join(folder, INDEX)), text);
}

/** Puts a model into the folder's index, in the place of one with its id. The others stay as they are written there. */
export async function addToIndex(folder: string, model: CatalogueModel): Promise<void> {
  const path = join(folder, INDEX);
  const text = await readText(path);
  // Also the check that nothing foreign is written over.
  if (text !== undefined) parseCatalogue(pathToFileURL(path), text);
  const content = text === undefined ? {} : (JSON.parse(text) as Record<string, unknown>);
  const there = (content['models'] ?? []) as unknown[];
  const isOld = (entry: unknown): boolean => isRecord(entry) && entry['id'] === model.id;
  const others = there.filter((entry) => !isOld(entry));
  const place = there.findIndex(isOld);
  const models = others.toSpliced(place < 0 ? others.length : place, 0, model);
  await writeTogether([[path, `${JSON.stringify({ ...content, models }, null, 2)}\n`]]);
}

/** The file, or undefined where there is none. */
export function readIfThere(path: string): Promise<Buffer<ArrayBuffer> | undefined> {
  return ifThere(path, () => readFile(path));
}

/** Size and SHA-256 of a file of whatever length, or undefined where there is none. */
export function hashIfThere(path: string): Promise<{ bytes: number; sha256: string } | undefined> {
  return ifThere(path, async () => {
    const sum = createHash('sha256');
    let bytes = 0;
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      sum.update(chunk);
      bytes += chunk.length;
    }
    return { bytes, sha256: sum.digest('hex') };
  });
}

async function ifThere<T>(path: string, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined;
    throw fault(path, 'read', cause);
  }
}

async function readText(path: string): Promise<string | undefined> {
  // As fetch reads texts: without a byte order mark.
  const bytes = await readIfThere(path);
  return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
}

/** A file to write. */
export type Written = readonly [path: string, content: Uint8Array | string];

/**
 * Writes files that belong together: all of them under other names first, then they are renamed. Until the last one is
 * written the signal ends it, and whatever fails leaves what was there as it was.
 */
export async function writeTogether(files: readonly Written[], signal?: AbortSignal): Promise<void> {
  const named = files.map(([path, content]) => ({
    path,
    content,
    partial: `${path}.${randomUUID()}.partial`,
  }));
  try {
    for (const { path, partial, content } of named) {
      signal?.throwIfAborted();
      await attempt(path, async () => {
        await mkdir(dirname(path), { recursive: true });
        // Told before anything is renamed, of which only some would be then.
        const there = await stat(path).catch(() => undefined);
        if (there?.isDirectory() === true) throw new Error('a folder is in its place');
        await writeFile(partial, content, { flush: true });
      });
    }
    signal?.throwIfAborted();
    for (const { path, partial } of named) await attempt(path, () => rename(partial, path));
  } catch (thrown) {
    for (const { partial } of named) await rm(partial, { force: true }).catch(() => undefined);
    throw thrown;
  }
}

async function attempt(path: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    throw fault(path, 'written', cause);
  }
}

function fault(path: string, done: 'read' | 'written', cause: unknown): MultiheadError {
  return new MultiheadError(`${path} cannot be ${done}: ${reasonOf(cause)}`, {
    code: 'internal',
    file: path,
    cause,
  });
}
