// The files of a model: from a record of an index, or as the caller gives them.

import { type CatalogueModel, forget } from './catalogue.js';
import { absolute } from './configure.js';
import { isGguf } from './content.js';
import { invalid, MultiheadError } from './errors.js';
import { reading } from './options.js';
import type { FileRole } from './protocol.js';
import type { ModelSource } from './types.js';

/**
 * A file to load: from an address, with size and hash where the index knows them, or given by the caller.
 * Where a gzip file of it is served, that is what `origin` names; size and hash are of the content.
 */
export interface SourceFile {
  name: string;
  role?: string;
  origin: URL | Blob;
  bytes?: number;
  sha256?: string;
  gzipBytes?: number;
  /** Size of the transfer as the server says it: of content that no index describes, the least it may have. */
  transferBytes?: number;
  /** Size of the content as it was when it was last loaded. */
  loadedBytes?: number;
  /** What tells its version at an address whose content does not change. */
  pinned?: string;
  /** The address that it is kept under, where that is not where it comes from. */
  keptAs?: URL;
  /** What to look at where the file is not there, and where the server wants a login. */
  advice?: string;
  denied?: string;
}

/** A model found: `key` is the same for the same files. */
export interface FoundModel {
  id: string;
  key: string;
  from?: string;
  to?: string;
  files: SourceFile[];
  /** Has it looked for anew by the next call: its files are not, or no longer, what it says. */
  forget?: () => void;
}

/** Numbers given Blobs apart, so that two models by name with equal names stay two. */
const givenNumbers = new WeakMap<object, number>();
let givenCount = 0;

function numberOf(file: object): number {
  const number = givenNumbers.get(file) ?? ++givenCount;
  givenNumbers.set(file, number);
  return number;
}

export function fromCatalogue(model: CatalogueModel, base: URL): FoundModel {
  const place = new URL(model.base, base);
  return {
    id: model.id,
    key: place.href,
    forget: () => {
      forget(base);
    },
    ...(model.from === undefined ? {} : { from: model.from }),
    ...(model.to === undefined ? {} : { to: model.to }),
    files: model.files.map(({ gzip, ...file }) => ({
      ...file,
      origin: new URL(gzip?.name ?? file.name, place),
      ...(gzip === undefined ? {} : { gzipBytes: gzip.bytes }),
    })),
  };
}

export function isFiles(source: unknown): source is Exclude<ModelSource, string | URL> {
  if (typeof source !== 'object' || source === null || !('files' in source)) return false;
  return typeof source.files === 'object' && source.files !== null;
}

/** How many of its files' names a model is called by. */
const NAMED = 12;

/** A model of files given by name. */
export function given(files: Record<string, string | URL | Blob | ArrayBuffer>): FoundModel {
  const names = reading('model', () => Object.entries(files));
  if (names.length === 0) throw invalid('model', 'files: {} names no file');
  const keys: string[] = [];
  const found = names.map(([label, file]): SourceFile => {
    const name = label.replace(/\.gz$/, '');
    const named = { name, ...(isGguf(name) ? { role: 'model' } : {}) };
    if (typeof file === 'string' || file instanceof URL) {
      const origin = absolute(file, 'model');
      keys.push(`${name}=${origin.href}`);
      return { ...named, origin };
    }
    if (!(file instanceof Blob) && !(file instanceof ArrayBuffer)) {
      throw invalid('model', `files["${label}"] is neither an address nor a Blob nor an ArrayBuffer`);
    }
    keys.push(`${name}#${numberOf(file)}`);
    // A buffer that went to a worker, say, has nothing in it any more.
    const origin = reading('model', () => (file instanceof Blob ? file : new Blob([file])));
    return { ...named, origin, bytes: origin.size };
  });
  const more = names.length - NAMED;
  const shown = names.slice(0, NAMED).map(([name]) => name);
  if (more > 0) shown.push(`${more} more`);
  return { id: shown.join('+'), key: keys.join(' '), files: found };
}

/** Roles by the role or the name that an index gives, in the words of ours and of Firefox-Translations'. */
const ROLES: readonly (readonly [FileRole, RegExp])[] = [
  ['targetVocab', /^(trg|target)_?vocab(\b.*\.spm)?$/i],
  ['sourceVocab', /^((src|source)_?)?vocab(\b.*\.spm)?$/i],
  ['shortlist', /^(lex|shortlist|lexicalShortlist)(\b.*\.bin)?$/i],
  ['model', /^model(\b.*\.bin)?$/i],
];

/** The files of a translation model by role. */
export function translationRoles<File extends { name: string; role?: string }>(
  id: string,
  files: readonly File[],
): Partial<Record<FileRole, File>> & { model: File; sourceVocab: File } {
  const roles = Object.create(null) as Partial<Record<FileRole, File>>;
  for (const file of files) {
    const role = ROLES.find(([, pattern]) => pattern.test(file.role ?? file.name))?.[0];
    if (role !== undefined) roles[role] ??= file;
  }
  const { model, sourceVocab } = roles;
  if (model === undefined || sourceVocab === undefined) {
    throw new MultiheadError(
      `${id}: a translation model has a model*.bin and a vocab*.spm (or srcvocab and trgvocab) file; there: ${files.map(({ name }) => name).join(', ')}`,
      { code: 'model-unsupported', option: 'model' },
    );
  }
  return { ...roles, model, sourceVocab };
}
