// `multihead models add`: fetches models, packs their files with gzip and puts them into a folder to serve. GGUF and safetensors
// files stay as they are: they would hardly get smaller, and a broken transfer of one goes on where it was.

import { join } from 'node:path';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import type { CatalogueFile, CatalogueModel } from '../../catalogue.js';
import { isGguf } from '../../content.js';
import { fetchFile as fetchContent } from '../../download.js';
import { SHARDS } from '../../encoder-files.js';
import { MultiheadError } from '../../errors.js';
import { kindOf, namesOf, ofLetters } from '../../kinds.js';
import { hash, unpack } from './bytes.js';
import type { Console } from './console.js';
import { addToIndex, hashIfThere, readIfThere, readIndex, type Written, writeTogether } from './folder.js';
import { indexed, quantised } from './int8.js';
import { knownModel } from './known-models.js';
import { type Offer, type OfferedFile, type Offers, offers } from './offers.js';

const pack = promisify(gzip);

export interface AddOptions {
  ids: readonly string[];
  folder: string;
  index: URL;
  /** Where the index has several models for a pair. */
  architecture?: string | undefined;
  /** Whether the weights of encoders are quantised. */
  int8: boolean;
}

/** Where an encoder's weights are quantised: the tensors that they have more, and the files that have these. */
type Added = Map<string, string>;

/** A shorter file is not worth a decompression. */
const WORTH_PACKING = 4096;

/** Adds the models; each is in the folder's index only once all of its files are there. */
export async function add(options: AddOptions, console: Console, signal: AbortSignal): Promise<void> {
  const { folder, index, int8 } = options;
  // A damaged index in the folder is told before anything is fetched.
  const before = await readIndex(folder);
  const own = await Promise.all(options.ids.map((id) => knownModel(id, index, int8)));
  const all = own.includes(undefined) ? await offers(index, signal) : { all: [], unreadable: [] };
  const chosen = options.ids.map((id, place) => own[place] ?? choose(id, all, options));
  for (const id of options.ids.filter((one) => all.unreadable.includes(one))) {
    console.say(`${id}: entries of the index whose shape is not known here are left out`);
  }
  for (const offer of chosen) {
    const [name] = namesOf(offer.files);
    if (int8 && (kindOf(offer.files) !== 'encoder' || ofLetters(offer.files))) {
      throw new MultiheadError(
        `${offer.id} is ${name}: --int8 quantises encoders only. Leave it out, or take a model that is quantised already`,
        { code: 'model-unsupported', option: 'int8' },
      );
    }
    const there = before.models.find(({ id }) => id === offer.id);
    await addModel(offer, there, folder, int8 ? new Map() : undefined, console, signal);
  }
}

function choose(id: string, { all, unreadable }: Offers, { architecture, index }: AddOptions): Offer {
  const same = all.filter((offer) => offer.id === id);
  const found = same.find((offer) => architecture === undefined || offer.architecture === architecture);
  if (found !== undefined) return found;
  if (same.length === 0 && unreadable.includes(id)) {
    throw new MultiheadError(
      `${index.href}: no entry of "${id}" is of a shape that is known here. Is there a newer version of this package?`,
      { code: 'model-unsupported' },
    );
  }
  const instead =
    same.length > 0
      ? `there is ${same.map((offer) => offer.architecture ?? 'one without a name').join(', ')}`
      : `there: ${[...new Set(all.map((offer) => offer.id))].join(', ') || 'none'}`;
  const what = architecture === undefined ? id : `${id} of architecture ${architecture}`;
  throw new MultiheadError(`no model ${what} in ${index.href}; ${instead}`, { code: 'model-not-found' });
}

async function addModel(
  offer: Offer,
  there: CatalogueModel | undefined,
  folder: string,
  added: Added | undefined,
  console: Console,
  signal: AbortSignal,
): Promise<void> {
  const { id, tasks, from, to, licence } = offer;
  const place = join(folder, id);
  const files: CatalogueFile[] = [];
  // Written once all have come, and renamed once all are written: until then a model that is replaced stays as it is.
  const fetched: (readonly [path: string, content: Uint8Array])[] = [];
  // What the index of weights in several files has to name is known once they are quantised.
  const index = offer.files.filter(({ name }) => name === SHARDS);
  for (const file of [...offer.files.filter(({ name }) => name !== SHARDS), ...index]) {
    const isChanged = added !== undefined && isWeights(file);
    const known =
      !isChanged && there?.base === `${id}/` ? there.files.find(({ name }) => name === file.name) : undefined;
    const kept = known === undefined ? undefined : await standing(place, known, file);
    if (kept === undefined) {
      const { described, content } = await fetchFile(file, isChanged ? added : undefined, console, signal);
      if (file.sha256 === undefined) {
        console.say(
          `${id}/${file.name}: the index has no hash to check it by; its hash is now that of what came`,
        );
      }
      files.push(described);
      fetched.push([join(place, described.gzip?.name ?? file.name), content]);
    } else {
      files.push(kept);
      console.say(`${id}/${file.name}: there already`);
    }
  }
  const licenceFile: Written = [join(place, 'LICENCE.txt'), licenceText(offer, files)];
  await writeTogether([...fetched, licenceFile], signal);
  for (const [path, content] of fetched) console.say(`${path}: ${content.length} bytes`);
  await addToIndex(folder, {
    id,
    tasks,
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    licence,
    base: `${id}/`,
    files,
  });
  const total = files.reduce((sum, { gzip: packed, bytes }) => sum + (packed?.bytes ?? bytes), 0);
  console.say(`${id}: added to ${folder}, ${(total / 1e6).toFixed(1)} MB to download`);
}

/** The file as it lies in the folder, if it is the one offered. */
async function standing(
  place: string,
  known: CatalogueFile,
  { sha256, role }: OfferedFile,
): Promise<CatalogueFile | undefined> {
  const { gzip: packed } = known;
  if (sha256 === undefined || known.sha256 !== sha256) return undefined;
  const kept = { ...known, ...(role === undefined ? {} : { role }) };
  if (packed === undefined) {
    return (await hashIfThere(join(place, known.name)))?.sha256 === sha256 ? kept : undefined;
  }
  const bytes = await readIfThere(join(place, packed.name));
  if (bytes === undefined || hash(bytes) !== packed.sha256) return undefined;
  const content = await unpack(bytes).catch(() => undefined);
  if (content === undefined || hash(content) !== sha256) return undefined;
  return kept;
}

/** Whether it holds the tensors of an encoder, or says where they are; not those of the modules after it. */
function isWeights({ name }: OfferedFile): boolean {
  return /^[^/]+\.safetensors$/.test(name) || name === SHARDS;
}

async function fetchFile(
  file: OfferedFile,
  added: Added | undefined,
  console: Console,
  signal: AbortSignal,
): Promise<{ described: CatalogueFile; content: Uint8Array }> {
  const { name, role } = file;
  const total = file.gzipBytes ?? file.bytes;
  const data = await fetchContent(file, signal, (bytes) => {
    console.progress(name, bytes, total);
  });
  const fetched = data instanceof Blob ? new Uint8Array(await data.arrayBuffer()) : data;
  const content = added === undefined ? fetched : changed(name, fetched, added);
  const described = {
    name,
    ...(role === undefined ? {} : { role }),
    bytes: content.length,
    sha256: hash(content),
  };
  const isSmall = name === SHARDS || (name.endsWith('.json') && content.length < WORTH_PACKING);
  if (isSmall || isGguf(name) || name.endsWith('.safetensors')) return { described, content };
  const packed = await pack(content, { level: constants.Z_BEST_COMPRESSION });
  signal.throwIfAborted();
  return {
    described: { ...described, gzip: { name: `${name}.gz`, bytes: packed.length, sha256: hash(packed) } },
    content: packed,
  };
}

/** Quantises weights. */
function changed(name: string, content: Uint8Array<ArrayBuffer>, added: Added): Uint8Array<ArrayBuffer> {
  if (name === SHARDS) return indexed(name, content, added);
  const file = quantised(name, content);
  for (const tensor of file.added) added.set(tensor, name);
  return file.content;
}

function licenceText({ id, from, to, licence }: Offer, files: readonly CatalogueFile[]): string {
  const pair = from === undefined || to === undefined ? '' : `, ${from} to ${to}`;
  const lines = files.map(({ name, sha256 }) => `  ${name}  sha256 ${sha256}`);
  return [`Model ${id}${pair}`, `Licence: ${licence}`, 'Files, decompressed:', ...lines, ''].join('\n');
}
