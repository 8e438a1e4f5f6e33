// What models an index offers. Two kinds are read: our own `index.json`, and Firefox Translations' storage index
// ({ baseUrl, models: { "en-pt": [ { architecture, releaseStatus, files } ] } }, gzip files).

import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isRecord, parseCatalogue } from '../../catalogue.js';
import { resolved } from '../../configure.js';
import { download, type Wanted } from '../../download.js';
import { MultiheadError } from '../../errors.js';

/** Firefox Translations' storage index: every pair that Firefox translates. */
export const PUBLIC_INDEX =
  'https://storage.googleapis.com/moz-fx-translations-data--303e-prod-translations-data/db/models.json';

const PUBLIC_LICENCE = 'MPL-2.0 (Firefox Translations models, by Mozilla and the Bergamot project)';

const ADVICE = 'see --from';

/** A file to fetch, and what it is to its model. */
export interface OfferedFile extends Wanted {
  role?: string;
}

/** A model that can be fetched. */
export interface Offer {
  id: string;
  tasks: string[];
  from?: string;
  to?: string;
  licence: string;
  /** What tells it from others of the same id. */
  architecture?: string;
  files: OfferedFile[];
}

/** What an index has. */
export interface Offers {
  /** Of several models with one id the released ones come first. */
  all: Offer[];
  /** Ids of the entries that cannot be read, one for each. */
  unreadable: string[];
}

/** `--from` in full: an address, or the path of an index or of its folder. */
export function indexAddress(from: string): URL {
  const isAddress = /^[a-z][a-z0-9+.-]+:/i.test(from);
  const url = isAddress ? new URL(from) : pathToFileURL(resolve(from));
  const isFolder =
    url.protocol === 'file:' && statSync(url, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isFolder && !url.pathname.endsWith('/')) url.pathname += '/';
  return url.pathname.endsWith('/') ? new URL('index.json', url) : url;
}

/** Reads the index. */
export async function offers(index: URL, signal: AbortSignal): Promise<Offers> {
  const name = index.pathname.split('/').at(-1) ?? '';
  const blob = await download({ name, url: index, advice: ADVICE }, signal, () => undefined);
  const text = await blob.text();
  const content = parsed(text);
  if (isRecord(content) && isRecord(content['models'])) return storageOffers(index, content);
  if (isRecord(content) && Array.isArray(content['data'])) {
    throw new MultiheadError(
      `${index.href} lists records of Remote Settings, whose files are zstd; give the storage index or a multihead index by --from`,
      { code: 'model-unsupported', file: name },
    );
  }
  const { models, unreadable } = parseCatalogue(index, text);
  const all = models.map(({ base, files, ...facts }) => ({
    ...facts,
    files: files.map(({ gzip, ...file }) => ({
      ...file,
      url: new URL(gzip?.name ?? file.name, new URL(base, index)),
      advice: ADVICE,
      ...(gzip === undefined ? {} : { gzipBytes: gzip.bytes }),
    })),
  }));
  return { all, unreadable: unreadable.map(({ id, what }) => id ?? what) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The reader of our own index says what is wrong.
    return undefined;
  }
}

/** Entries of an unknown shape are left out: the index is another project's, and grows. */
function storageOffers(index: URL, { baseUrl, models }: Record<string, unknown>): Offers {
  const wrong = (what: string): MultiheadError =>
    new MultiheadError(`${index.href}: ${what}. Is this a model index?`, {
      code: 'model-corrupt',
      file: 'models.json',
    });
  const base = typeof baseUrl === 'string' ? resolved(`${baseUrl.replace(/\/$/, '')}/`, index) : index;
  if (base === undefined) throw wrong(`its baseUrl "${String(baseUrl)}" is no address`);
  const found: [rank: number, Offer][] = [];
  const unreadable: string[] = [];
  for (const [pair, entries] of Object.entries(isRecord(models) ? models : {})) {
    for (const entry of Array.isArray(entries) ? (entries as unknown[]) : [entries]) {
      const offer = storageOffer(pair, entry, base);
      const released = isRecord(entry) && entry['releaseStatus'] === 'Release';
      if (offer === undefined) unreadable.push(idOf(pair));
      else found.push([released ? 0 : 1, offer]);
    }
  }
  if (found.length === 0 && unreadable.length > 0) throw wrong('none of its entries is a model');
  return { all: found.toSorted(([a], [b]) => a - b).map(([, offer]) => offer), unreadable };
}

function idOf(pair: string): string {
  return pair.replaceAll('_', '-');
}

/** Roles in the words of the storage index; other files (quality models) are not used. */
const STORAGE_ROLES: Readonly<Record<string, string>> = {
  model: 'model',
  lexicalShortlist: 'shortlist',
  vocab: 'vocab',
  srcVocab: 'srcvocab',
  trgVocab: 'trgvocab',
};

function storageOffer(pair: string, entry: unknown, base: URL): Offer | undefined {
  if (!isRecord(entry) || !isRecord(entry['files'])) return undefined;
  const id = idOf(pair);
  const [source = '', target = ''] = pair.split('-');
  const from = tag(entry['sourceLanguage'] ?? source);
  const to = tag(entry['targetLanguage'] ?? target);
  if (!/^[\w-]+$/.test(id) || from === undefined || to === undefined) return undefined;
  const files: OfferedFile[] = [];
  for (const [kind, file] of Object.entries(entry['files'])) {
    const role = STORAGE_ROLES[kind];
    if (role === undefined) continue;
    const read = storageFile(file, base);
    if (read === undefined) return undefined;
    files.push({ ...read, role });
  }
  const roles = new Set(files.map(({ role }) => role));
  if (!roles.has('model') || !(roles.has('vocab') || roles.has('srcvocab'))) return undefined;
  const { architecture, licence } = entry;
  return {
    id,
    tasks: ['translation'],
    from,
    to,
    licence: typeof licence === 'string' ? licence : PUBLIC_LICENCE,
    ...(typeof architecture === 'string' ? { architecture } : {}),
    files,
  };
}

function storageFile(file: unknown, base: URL): OfferedFile | undefined {
  if (!isRecord(file) || typeof file['path'] !== 'string') return undefined;
  const url = resolved(file['path'], base);
  if (url === undefined) return undefined;
  const name = (url.pathname.split('/').at(-1) ?? '').replace(/\.gz$/, '');
  if (!/^[\w-][\w.-]*$/.test(name)) return undefined;
  // Of shortlists and vocabularies it says neither: then what holds is the gzip file's own checksum.
  const { uncompressedSize, uncompressedHash } = file;
  return {
    name,
    url,
    advice: ADVICE,
    ...(typeof uncompressedSize === 'number' ? { bytes: uncompressedSize } : {}),
    ...(typeof uncompressedHash === 'string' ? { sha256: uncompressedHash.toLowerCase() } : {}),
  };
}

/** A language tag in canonical form; the storage index writes zh_hant. */
function tag(written: unknown): string | undefined {
  if (typeof written !== 'string') return undefined;
  try {
    return new Intl.Locale(written.replaceAll('_', '-')).toString();
  } catch {
    return undefined;
  }
}
