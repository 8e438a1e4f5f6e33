// What models an index offers. Two kinds are read: our own `index.json`, and Firefox Translations' storage index
// ({ baseUrl, models: { "en-pt": [ { architecture, releaseStatus, files } ] } }, gzip files).

import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseCatalogue } from '../../catalogue.js';
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

/** `--from` in full: an address, or the path of an index or of its folder. */
export function indexAddress(from: string): URL {
  const isAddress = /^[a-z][a-z0-9+.-]+:/i.test(from);
  const url = isAddress ? new URL(from) : pathToFileURL(resolve(from));
  const isFolder =
    url.protocol === 'file:' && statSync(url, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isFolder && !url.pathname.endsWith('/')) url.pathname += '/';
  return url.pathname.endsWith('/') ? new URL('index.json', url) : url;
}

/** Reads the index. Of several models with one id the released ones come first. */
export async function offers(index: URL, signal: AbortSignal): Promise<Offer[]> {
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
  return parseCatalogue(index, text).map(({ base, files, ...facts }) => ({
    ...facts,
    files: files.map(({ gzip, ...file }) => ({
      ...file,
      url: new URL(gzip?.name ?? file.name, new URL(base, index)),
      advice: ADVICE,
      ...(gzip === undefined ? {} : { gzipBytes: gzip.bytes }),
    })),
  }));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The reader of our own index says what is wrong.
    return undefined;
  }
}

function storageOffers(index: URL, content: Record<string, unknown>): Offer[] {
  const { baseUrl, models } = content;
  const wrong = (what: string): MultiheadError =>
    new MultiheadError(`${index.href}: ${what}. Is this a model index?`, {
      code: 'model-corrupt',
      file: 'models.json',
    });
  const base = typeof baseUrl === 'string' ? new URL(`${baseUrl.replace(/\/$/, '')}/`, index) : index;
  const found: [rank: number, Offer][] = [];
  for (const [pair, entries] of Object.entries(isRecord(models) ? models : {})) {
    if (!Array.isArray(entries)) throw wrong(`"${pair}" is no list`);
    for (const entry of entries as unknown[]) {
      const offer = storageOffer(pair, entry, base);
      if (offer === undefined) throw wrong(`an entry of "${pair}" is no model`);
      const released = isRecord(entry) && entry['releaseStatus'] === 'Release';
      found.push([released ? 0 : 1, offer]);
    }
  }
  return found.toSorted(([a], [b]) => a - b).map(([, offer]) => offer);
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
  const id = pair.replaceAll('_', '-');
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
  const url = new URL(file['path'], base);
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

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
