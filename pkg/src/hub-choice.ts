// Which file of a repository is meant.

import { MultiheadError } from './errors.js';
import type { HubName } from './hub.js';
import type { ModelKind } from './kinds.js';

/** A file of a repository. */
export interface HubFile {
  path: string;
  bytes?: number;
  sha256?: string;
  /** Git's own hash of it: what tells one version from another where there is no SHA-256. */
  blob?: string;
}

/** Where no quantisation is named, the first of these that there is: small ones first, of one size the better. */
const ORDER = [
  'Q4_K_M',
  'Q4_K_S',
  'Q4_0',
  'Q4_1',
  'IQ4_NL',
  'Q5_K_M',
  'Q5_K_S',
  'Q5_0',
  'Q5_1',
  'Q6_K',
  'Q8_0',
  'F16',
  'BF16',
  'F32',
];

/** Quantisations whose blocks no kernel here reads. */
const UNREAD = /^(Q[23]_|Q4_0_|IQ[123]_|IQ4_XS|TQ|MXFP)/;

const PART = /-\d{5}-of-\d{5}\.gguf$/i;

/** Files that go with a model: projections of images, importance matrices, adapters. */
const BESIDE = /(^|[-_.])(mmproj|imatrix|lora|adapter)([-_.]|$)/i;

/** How many names a message has. */
const NAMED = 12;

/** The quantisation that a file's name tells, in capitals: "smollm2-135m-instruct-q8_0.gguf" is "Q8_0". */
export function quantisationOf(path: string): string | undefined {
  const stem = nameOf(path)
    .replace(PART, '')
    .replace(/\.gguf$/i, '');
  const found = /(?:^|[-._])((?:I?Q|TQ)\d_\w+|MXFP\d\w*|B?F(?:P)?(?:16|32))$/i.exec(stem)?.[1];
  return found?.toUpperCase().replace(/^(B?F)P/, '$1');
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/**
 * Whether the repository is meant as an encoder: where that is wanted, or nothing says what is and it has no GGUF file. A
 * name with a file or a quantisation means one file.
 */
export function isEncoder(
  { repository, wanted }: HubName,
  files: readonly HubFile[],
  kind: ModelKind | undefined,
): boolean {
  const hasGguf = files.some(({ path }) => /\.gguf$/i.test(path));
  const looksSo = files.some(({ path }) => /^(config\.json|[^/]*\.safetensors)$/.test(path));
  if (wanted !== undefined) {
    if (kind !== 'encoder' || hasGguf) return false;
    throw new MultiheadError(
      `${repository}: an encoder is all files of its repository; leave ":${wanted}" out of its name`,
      { code: 'model-not-found', option: 'model', file: wanted },
    );
  }
  return kind === 'encoder' ? looksSo || !hasGguf : kind !== 'text' && !hasGguf && looksSo;
}

/** The file meant: named by its path, its name or its quantisation, or the default. */
export function chooseFile({ repository, wanted }: HubName, files: readonly HubFile[]): HubFile {
  const fail = (what: string, code: 'model-not-found' | 'model-unsupported'): MultiheadError =>
    new MultiheadError(`${repository}: ${what}`, {
      code,
      option: 'model',
      ...(wanted === undefined ? {} : { file: wanted }),
    });
  const all = files.filter(({ path }) => /\.gguf$/i.test(path));
  if (all.length === 0) {
    throw fail(
      `it has no .gguf file; there: ${names(files)}. Many models have them in a repository of their own, named …-GGUF; else convert the weights by llama.cpp's convert_hf_to_gguf.py and give that file`,
      'model-unsupported',
    );
  }
  const models = all.filter(({ path }) => !BESIDE.test(nameOf(path)));
  const file = wanted === undefined ? byDefault(models) : named(wanted, all, models);
  if (file === undefined) {
    const what =
      wanted === undefined
        ? 'no file of a quantisation that can be read here'
        : `no file or quantisation ${wanted}`;
    throw fail(
      `${what}; there: ${names(all)}`,
      wanted === undefined ? 'model-unsupported' : 'model-not-found',
    );
  }
  if (Array.isArray(file)) {
    throw fail(`several files are ${wanted ?? 'alike'}: ${names(file)}. Name one of them`, 'model-not-found');
  }
  if (PART.test(file.path)) {
    throw fail(
      `${file.path} is one part of a file. Join the parts by llama.cpp's llama-gguf-split --merge, and serve or give the file that comes of it`,
      'model-unsupported',
    );
  }
  const quantisation = quantisationOf(file.path) ?? '';
  if (UNREAD.test(quantisation)) {
    const readable = models.filter(({ path }) => !UNREAD.test(quantisationOf(path) ?? ''));
    throw fail(
      `${file.path}: quantisation ${quantisation} cannot be read here; what can: ${names(readable)}`,
      'model-unsupported',
    );
  }
  return file;
}

/** By the order above; a repository with one model needs no order. */
function byDefault(models: readonly HubFile[]): HubFile | HubFile[] | undefined {
  if (models.length === 1) return models[0];
  const whole = models.filter(({ path }) => !PART.test(path));
  for (const quantisation of ORDER) {
    const found = one(ofQuantisation(quantisation, whole));
    if (found !== undefined) return found;
  }
  const others = whole.filter(({ path }) => quantisationOf(path) === undefined);
  return one(others) ?? models.find(({ path }) => ORDER.includes(quantisationOf(path) ?? ''));
}

function named(
  wanted: string,
  all: readonly HubFile[],
  models: readonly HubFile[],
): HubFile | HubFile[] | undefined {
  const path = all.find((file) => file.path === wanted);
  if (path !== undefined) return path;
  const lower = wanted.toLowerCase();
  const name = all.filter((file) => [lower, `${lower}.gguf`].includes(nameOf(file.path).toLowerCase()));
  if (name.length > 0) return one(name);
  const same = ofQuantisation(wanted.toUpperCase(), models);
  return one(same.filter((file) => !PART.test(file.path))) ?? same[0];
}

function ofQuantisation(quantisation: string, files: readonly HubFile[]): HubFile[] {
  return files.filter(({ path }) => quantisationOf(path) === quantisation);
}

/** The only one, none, or more than are wanted. */
function one(files: HubFile[]): HubFile | HubFile[] | undefined {
  return files.length > 1 ? files : files[0];
}

function names(files: readonly HubFile[]): string {
  const more = files.length - NAMED;
  const shown = files.slice(0, NAMED).map(({ path }) => path);
  return shown.length === 0 ? 'nothing' : `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
