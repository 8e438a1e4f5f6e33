// The model index (`index.json` in the model folder): which models there are, their files, sizes and hashes.

import * as cache from './cache.js';
import { configuration } from './configure.js';
import { MultiheadError, reasonOf } from './errors.js';
import { platform } from './platform.js';

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

/** The models of `<base>index.json`, fetched once per page; after a failure the next call tries again. */
export function catalogue(base: URL): Promise<CatalogueModel[]> {
  const url = new URL('index.json', base);
  const known = opened.get(url.href);
  if (known !== undefined) return known;
  const models = open(url);
  opened.set(url.href, models);
  models.catch(() => opened.delete(url.href));
  return models;
}

/** The index from the network; without one, as it was at the last visit. */
async function open(url: URL): Promise<CatalogueModel[]> {
  const key = cache.cacheKey(url, 'index');
  let text: string;
  try {
    text = await fetchText(url);
  } catch (thrown) {
    const kept = thrown instanceof TypeError ? await cache.get(key) : undefined;
    if (kept === undefined) throw unreachable(url, thrown);
    return parseCatalogue(url, await kept.text());
  }
  const models = parseCatalogue(url, text);
  await cache.keep(key, new Blob([text]));
  return models;
}

async function fetchText(url: URL): Promise<string> {
  const response = await (configuration().fetch ?? platform().fetch)(url, { cache: 'no-cache' });
  if (!response.ok) {
    throw new MultiheadError(
      `no model index at ${url.href} (status ${response.status}). Put the models there, or say where they are by configure({ modelBase })`,
      { code: 'model-not-found', file: 'index.json' },
    );
  }
  return response.text();
}

function unreachable(url: URL, thrown: unknown): MultiheadError {
  if (thrown instanceof MultiheadError) return thrown;
  return new MultiheadError(
    `the model index ${url.href} could not be fetched: ${reasonOf(thrown)}. Is the network there, and does the page's connect-src allow it?`,
    { code: 'download-failed', file: 'index.json', cause: thrown },
  );
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

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
