// The model index (`index.json` in the model folder): which models there are, their files, sizes and hashes.

import * as cache from './cache.js';
import { download } from './download.js';
import { MultiheadError } from './errors.js';

/** A file of an index record. */
export interface CatalogueFile {
  name: string;
  /** What it is to its model; where it is missing, the name tells. */
  role?: string;
  bytes: number;
  sha256: string;
  /** The file as it is served, where that is a gzip file of the one described: its name, size and hash. */
  gzip?: Packed;
}

/** A gzip file. */
export interface Packed {
  name: string;
  bytes: number;
  sha256: string;
}

/** One model of the index. */
export interface CatalogueModel {
  id: string;
  tasks: string[];
  from?: string;
  to?: string;
  licence: string;
  /** Folder of its files, relative to the index. */
  base: string;
  files: CatalogueFile[];
}

const opened = new Map<string, Promise<CatalogueModel[]>>();

function address(base: URL): URL {
  return new URL('index.json', base);
}

/** The models of `<base>index.json`, fetched once per page; after a failure the next call tries again. */
export function catalogue(base: URL): Promise<CatalogueModel[]> {
  const url = address(base);
  const known = opened.get(url.href);
  if (known !== undefined) return known;
  const models = open(url);
  opened.set(url.href, models);
  models.catch(() => {
    if (opened.get(url.href) === models) opened.delete(url.href);
  });
  return models;
}

/** Has the next call fetch the index anew: its files are not what it says. */
export function forget(base: URL): void {
  opened.delete(address(base).href);
}

/** The index from the network; where that or the server fails, as it was at the last visit. */
async function open(url: URL): Promise<CatalogueModel[]> {
  const key = cache.cacheKey(url, 'index');
  let text: string;
  try {
    text = await fetchText(url);
  } catch (thrown) {
    const failed = thrown instanceof MultiheadError && thrown.code === 'download-failed';
    const kept = failed ? await cache.get(key) : undefined;
    if (kept === undefined) throw thrown;
    return parseCatalogue(url, await kept.text());
  }
  const models = parseCatalogue(url, text);
  await cache.keep(key, new Blob([text]));
  return models;
}

/** One attempt: a second one would keep waiting those who have a copy, and the next call makes it. */
async function fetchText(url: URL): Promise<string> {
  const advice = 'put the models there, or say where they are by configure({ modelBase })';
  const wanted = { name: 'index.json', url, advice, tries: 1, cache: 'no-cache' } as const;
  try {
    return await (await download(wanted, new AbortController().signal, () => undefined)).text();
  } catch (cause) {
    if (!(cause instanceof MultiheadError) || cause.code !== 'model-not-found') throw cause;
    throw new MultiheadError(`no model index: ${cause.message}`, {
      code: cause.code,
      file: 'index.json',
      cause,
    });
  }
}

/** The models that an index of ours lists; `url` is where it came from, for the errors. */
export function parseCatalogue(url: URL, text: string): CatalogueModel[] {
  const wrong = (what: string, code: 'model-not-found' | 'model-corrupt', cause?: unknown): MultiheadError =>
    new MultiheadError(`${url.href}: ${what}`, { code, file: 'index.json', cause });
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (cause) {
    const page = /^\s*</.test(text);
    const what = page
      ? 'a web page came instead of the model index; see configure({ modelBase })'
      : 'not JSON. Write the index again';
    throw wrong(what, page ? 'model-not-found' : 'model-corrupt', cause);
  }
  const list = isRecord(content) ? content['models'] : undefined;
  if (!Array.isArray(list)) throw wrong('no "models" list. Is this a multihead index?', 'model-corrupt');
  return list.map((entry: unknown, place) => {
    const model = readModel(entry);
    if (model === undefined) throw wrong(`entry ${place} of "models" is no model record`, 'model-corrupt');
    return model;
  });
}

function readModel(entry: unknown): CatalogueModel | undefined {
  if (!isRecord(entry)) return undefined;
  const { id, tasks, from, to, licence, base, files } = entry;
  if (typeof id !== 'string' || !/^[\w-][\w.-]*$/.test(id) || !Array.isArray(files)) return undefined;
  const read = files.map(readFile);
  if (!read.every((file) => file !== undefined)) return undefined;
  return {
    id,
    tasks: Array.isArray(tasks) ? tasks.filter((task) => typeof task === 'string') : [],
    ...(typeof from === 'string' ? { from } : {}),
    ...(typeof to === 'string' ? { to } : {}),
    licence: typeof licence === 'string' ? licence : '',
    base: typeof base === 'string' ? base : `${id}/`,
    files: read,
  };
}

function readFile(entry: unknown): CatalogueFile | undefined {
  const file = readPacked(entry);
  if (file === undefined || !isRecord(entry)) return undefined;
  const { role, gzip } = entry;
  const packed = gzip === undefined ? undefined : readPacked(gzip);
  if (gzip !== undefined && packed === undefined) return undefined;
  return {
    ...file,
    ...(typeof role === 'string' ? { role } : {}),
    ...(packed === undefined ? {} : { gzip: packed }),
  };
}

function readPacked(entry: unknown): Packed | undefined {
  if (!isRecord(entry)) return undefined;
  const { name, bytes, sha256 } = entry;
  const fine =
    typeof name === 'string' &&
    /^[\w-][\w.-]*$/.test(name) &&
    typeof bytes === 'number' &&
    Number.isSafeInteger(bytes) &&
    bytes >= 0 &&
    typeof sha256 === 'string' &&
    /^[0-9a-f]{64}$/.test(sha256);
  return fine ? { name, bytes, sha256 } : undefined;
}

/** Whether the value is an object of JSON. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
