// The model index (`index.json` in the model folder): which models there are, their files, sizes and hashes.

import * as cache from './cache.js';
import { resolved } from './configure.js';
import { download } from './download.js';
import { MultiheadError, shown } from './errors.js';
import { isTag } from './languages.js';

/** A file of an index record. */
export interface CatalogueFile {
  /** Its path in the model's folder. */
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

/** An entry that is of no known shape. The other models do not suffer by it. */
export interface Unreadable {
  id?: string;
  /** The entry, for people. */
  what: string;
  why: string;
}

/** What an index has. */
export interface Catalogue {
  models: CatalogueModel[];
  unreadable: Unreadable[];
}

const opened = new Map<string, Promise<Catalogue>>();

function address(base: URL): URL {
  return new URL('index.json', base);
}

/** What `<base>index.json` has, fetched once per page; after a failure the next call tries again. */
export function catalogue(base: URL): Promise<Catalogue> {
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
async function open(url: URL): Promise<Catalogue> {
  const key = cache.cacheKey(url, 'index');
  let text: string;
  try {
    text = await fetchText(url);
  } catch (thrown) {
    const failed = thrown instanceof MultiheadError && thrown.code === 'download-failed';
    const kept = failed ? await cache.get(key) : undefined;
    if (kept === undefined) throw thrown;
    return told(url, parseCatalogue(url, await kept.text()));
  }
  const content = parseCatalogue(url, text);
  // A damaged one may lack what the copy of the last visit has, and would take its place for days without a network.
  if (content.unreadable.length === 0) await cache.keep(key, new Blob([text]));
  return told(url, content);
}

/** Says on the console what is left out, which nobody else would. */
function told(url: URL, content: Catalogue): Catalogue {
  const { unreadable } = content;
  if (unreadable.length > 0) {
    const each = unreadable.map(({ what, why }) => `${what}: ${why}`).join('; ');
    // oxlint-disable-next-line no-console -- the calls go on without these entries
    console.warn(`multihead: ${url.href} has entries that cannot be read and are left out: ${each}`);
  }
  return content;
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

/** What an index of ours lists; `url` is where it came from. One of which no entry can be read is an error. */
export function parseCatalogue(url: URL, text: string): Catalogue {
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
  const models: CatalogueModel[] = [];
  const unreadable: Unreadable[] = [];
  for (const [place, entry] of (list as unknown[]).entries()) {
    const read = readModel(entry, url);
    if (typeof read !== 'string') models.push(read);
    else unreadable.push({ ...idOf(entry), what: nameOf(entry, place), why: read });
  }
  const [first] = unreadable;
  if (models.length === 0 && first !== undefined) {
    throw wrong(`${first.what} of "models" is no model record: ${first.why}`, 'model-corrupt');
  }
  return { models, unreadable };
}

/** What is asked for is in the index, but as an entry that cannot be read. */
export function corrupt(base: URL, { what, why }: Unreadable): MultiheadError {
  const message = `${address(base).href}: ${what} is no model record: ${why}. Write the index again`;
  return new MultiheadError(message, { code: 'model-corrupt', file: 'index.json' });
}

function idOf(entry: unknown): { id?: string } {
  return isRecord(entry) && typeof entry['id'] === 'string' ? { id: entry['id'] } : {};
}

function nameOf(entry: unknown, place: number): string {
  const { id } = idOf(entry);
  return id === undefined ? `entry ${place}` : `entry ${place} (${shown(id)})`;
}

const NAME = /^[\w-][\w.-]*$/;
/** A file of a model, which may lie in a folder of it: "1_Pooling/config.json". Never above or beside the model's folder. */
const FILE = /^[\w-][\w.-]*(?:\/[\w-][\w.-]*)*$/;

/** The record, or why it is none. */
function readModel(entry: unknown, index: URL): CatalogueModel | string {
  if (!isRecord(entry)) return 'an object expected';
  const { id, tasks, from, to, licence, base, files } = entry;
  if (typeof id !== 'string' || !NAME.test(id)) return 'its id is missing or no name';
  if (!Array.isArray(files) || files.length === 0) return 'it lists no "files"';
  const place = base === undefined ? `${id}/` : base;
  if (typeof place !== 'string' || !isFolder(place, index)) {
    return `its base ${shown(base)} is no address of a folder`;
  }
  if (!isTagOrNone(from)) return `its from ${shown(from)} is no language tag`;
  if (!isTagOrNone(to)) return `its to ${shown(to)} is no language tag`;
  if (!isNamesOrNone(tasks)) return 'its tasks are no list of names';
  const read: CatalogueFile[] = [];
  for (const [number, one] of (files as unknown[]).entries()) {
    const file = readFile(one);
    if (typeof file === 'string') return `file ${number} ${file}`;
    read.push(file);
  }
  return {
    id,
    tasks: tasks ?? [],
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    licence: typeof licence === 'string' ? licence : '',
    base: place,
    files: read,
  };
}

function isFolder(place: string, index: URL): boolean {
  return resolved('file', resolved(place, index) ?? new URL('data:,')) !== undefined;
}

function isTagOrNone(value: unknown): value is string | undefined {
  return value === undefined || (typeof value === 'string' && isTag(value));
}

function isNamesOrNone(value: unknown): value is string[] | undefined {
  return value === undefined || (Array.isArray(value) && value.every((name) => typeof name === 'string'));
}

/** The file, or what is wrong with it. */
function readFile(entry: unknown): CatalogueFile | string {
  const file = readPacked(entry);
  if (file === undefined || !isRecord(entry)) return 'lacks a name, its bytes or its SHA-256';
  const { role, gzip } = entry;
  const packed = gzip === undefined ? undefined : readPacked(gzip);
  if (gzip !== undefined && packed === undefined) {
    return `(${shown(file.name)}) has a gzip record that lacks a name, its bytes or its SHA-256`;
  }
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
    FILE.test(name) &&
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
