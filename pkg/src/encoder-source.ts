// An encoder given as the address of its folder, which no index describes: its files are told by their names, and by what
// the two of them say that name others.

import * as cache from './cache.js';
import { isRecord } from './catalogue.js';
import { resolved } from './configure.js';
import { download } from './download.js';
import {
  BESIDE,
  encoderFiles,
  INSTEAD,
  isOfLetters,
  lettersFiles,
  SHARDS,
  WEIGHTS,
} from './encoder-files.js';
import { MultiheadError, reasonOf } from './errors.js';
import { probe } from './probe.js';
import type { FoundModel, SourceFile } from './sources.js';

const TOKENIZER = 'tokenizer.json';

/** The files of a folder, by their paths in it, those that there are. */
type There = Map<string, SourceFile>;

/** The encoder of the folder `place` (ends in "/"); undefined where it has no config.json. */
export async function encoderFolder(place: URL, id: string): Promise<FoundModel | undefined> {
  const files = await look(place, id);
  if (files === undefined) return undefined;
  const names = files.map(({ name, origin }) => [name, origin instanceof URL && isPacked(origin)]);
  await cache.keep(cache.listingKey(place), new Blob([JSON.stringify(names)]));
  return { id, key: place.href, files };
}

/** The encoder as it was at the last visit, for days without a network: what there is of the folder was kept with it. */
export async function keptFolder(place: URL, id: string): Promise<FoundModel | undefined> {
  const kept = await cache.get(cache.listingKey(place));
  const names: unknown = kept === undefined ? undefined : JSON.parse(await kept.text());
  if (!Array.isArray(names)) return undefined;
  const files = (names as [string, boolean][]).map(([name, packed]) => at(place, name, packed));
  return { id, key: place.href, files };
}

function isPacked({ pathname }: URL): boolean {
  return pathname.endsWith('.gz');
}

async function look(place: URL, id: string): Promise<SourceFile[] | undefined> {
  const there: There = new Map();
  await ask(place, ['config.json'], there);
  if (!there.has('config.json')) return undefined;
  await ask(place, [...BESIDE, WEIGHTS], there);
  // As our own command writes it.
  if (!there.has(TOKENIZER)) await ask(place, [TOKENIZER], there, { packed: true });
  if (!there.has(WEIGHTS)) {
    await ask(place, [SHARDS], there);
    if (there.has(SHARDS)) await ask(place, shardsOf(await json(place, SHARDS)), there, { all: true });
  }
  if (there.has('modules.json')) await ask(place, modulesOf(await json(place, 'modules.json')), there);
  if (!there.has(TOKENIZER) && there.has(WEIGHTS) && isOfLetters(await json(place, 'config.json'))) {
    return lettersFiles(id === '' ? place.href : id, [...there.values()]);
  }
  if (!there.has(TOKENIZER) || !(there.has(WEIGHTS) || there.has(SHARDS))) {
    await ask(place, INSTEAD, there);
  }
  return encoderFiles(id === '' ? place.href : id, [...there.values()], false);
}

/** Adds the files that there are; with `all`, those that are not are an error that names them; `packed` ones are gzip files. */
async function ask(
  place: URL,
  names: readonly string[],
  there: There,
  { all = false, packed = false } = {},
): Promise<void> {
  const asked = names.filter((name) => !there.has(name));
  const found = await Promise.all(
    asked.map((name) =>
      probe(at(place, name, packed).origin).catch((cause: unknown) => {
        if (cause instanceof MultiheadError) throw cause;
        throw new MultiheadError(`${name} of ${place.href} could not be asked for: ${reasonOf(cause)}`, {
          code: 'download-failed',
          file: name,
          cause,
        });
      }),
    ),
  );
  const missing: string[] = [];
  for (const [number, name] of asked.entries()) {
    const one = found[number];
    if (one === undefined) missing.push(name);
    else
      there.set(name, {
        ...at(place, name, packed),
        ...(one.bytes === undefined ? {} : { transferBytes: one.bytes }),
      });
  }
  if (!all || missing.length === 0) return;
  throw new MultiheadError(
    `${place.href}: ${SHARDS} names files that are not there: ${missing.join(', ')}. Put them beside it`,
    { code: 'model-not-found', option: 'model', file: missing[0] ?? SHARDS },
  );
}

/** A file of the folder. */
function at(place: URL, name: string, packed = false): SourceFile & { origin: URL } {
  const path = name.split('/').map(encodeURIComponent).join('/');
  return {
    name,
    origin: new URL(`${path}${packed ? '.gz' : ''}`, place),
    advice: 'is the address of the folder right?',
  };
}

/** A file that names others. */
async function json(place: URL, name: string): Promise<unknown> {
  const { origin, advice } = at(place, name);
  const wanted = {
    name,
    url: origin,
    ...(advice === undefined ? {} : { advice }),
    cache: 'no-cache',
  } as const;
  const blob = await download(wanted, new AbortController().signal, () => undefined);
  try {
    return JSON.parse(await blob.text());
  } catch (cause) {
    throw corrupt(name, `it is not JSON (${reasonOf(cause)})`, cause);
  }
}

function corrupt(name: string, what: string, cause?: unknown): MultiheadError {
  return new MultiheadError(`${name}: ${what}. Was the folder copied whole?`, {
    code: 'model-corrupt',
    file: name,
    cause,
  });
}

/** Names of the files that hold the tensors. */
function shardsOf(index: unknown): string[] {
  const map = isRecord(index) && isRecord(index['weight_map']) ? Object.values(index['weight_map']) : [];
  const names = [...new Set(map)].filter((name) => typeof name === 'string' && isInside(name));
  if (names.length === 0) throw corrupt(SHARDS, 'its "weight_map" names no file');
  return names as string[];
}

/** The files that the modules after the transformer may have. */
function modulesOf(modules: unknown): string[] {
  if (!Array.isArray(modules)) throw corrupt('modules.json', 'a list of modules expected');
  return (modules as unknown[]).flatMap((entry) => {
    const { path, type } = isRecord(entry) ? entry : {};
    if (typeof path !== 'string' || path === '' || !isInside(path)) return [];
    const folder = path.replace(/\/+$/, '');
    const hasWeights = typeof type === 'string' && /Dense|LayerNorm/.test(type);
    return [`${folder}/config.json`, ...(hasWeights ? [`${folder}/${WEIGHTS}`] : [])];
  });
}

/** Whether the path leads to somewhere in the folder. */
function isInside(path: string): boolean {
  const base = new URL('https://folder.invalid/in/');
  return !path.startsWith('/') && resolved(path, base)?.href.startsWith(base.href) === true;
}
