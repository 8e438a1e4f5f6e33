// A model given as the address of its folder: described by an index, or told by the names that its files have in
// Firefox Translations, or as transformers writes an encoder.

import * as cache from './cache.js';
import { catalogue, type Catalogue, corrupt } from './catalogue.js';
import type * as encoderSourcePart from './encoder-source.js';
import { MultiheadError, part, reasonOf } from './errors.js';
import type { ModelKind } from './kinds.js';
import { probe } from './probe.js';
import { fromCatalogue, type FoundModel, type SourceFile } from './sources.js';

const found = new Map<string, Promise<FoundModel>>();

/** The model of the folder `place` (ends in "/"), looked for once per page; after a failure the next call tries again. */
export function folder(place: URL, kind?: ModelKind): Promise<FoundModel> {
  const known = found.get(place.href);
  if (known !== undefined) return known;
  const forget = (): void => {
    if (found.get(place.href) === model) found.delete(place.href);
  };
  const model = seen(place, kind).then((looked) => ({
    ...looked,
    forget: () => {
      forget();
      looked.forget?.();
    },
  }));
  found.set(place.href, model);
  model.catch(forget);
  return model;
}

/** The model as it is, or, where nobody can be asked, as it was at the last visit. */
async function seen(place: URL, kind: ModelKind | undefined): Promise<FoundModel> {
  const base = new URL('../', place);
  const id = decoded(place.pathname.slice(base.pathname.length, -1));
  try {
    return await look(place, base, id, kind);
  } catch (thrown) {
    const isFailed = thrown instanceof MultiheadError && thrown.code === 'download-failed';
    const isKept = isFailed && (await cache.has(cache.listingKey(place)));
    const kept = isKept ? await (await encoderSource()).keptFolder(place, id) : undefined;
    if (kept === undefined) throw thrown;
    return kept;
  }
}

/**
 * By the index beside the folder (`…/models/en-pt/` by `…/models/index.json`), the one in it, or names. A model of the
 * folder's name that the index beside it has elsewhere comes after the folder's own.
 */
async function look(place: URL, base: URL, id: string, kind: ModelKind | undefined): Promise<FoundModel> {
  const beside = await indexed(base);
  const listed = beside.models.find((model) => new URL(model.base, base).href === place.href);
  if (listed !== undefined) return fromCatalogue(listed, base);
  const [own, ...others] = (await indexed(place)).models;
  if (own !== undefined && others.length === 0) return fromCatalogue(own, place);
  const elsewhere = beside.models.find((model) => model.id === id);
  const damaged = beside.unreadable.find((entry) => entry.id === id);
  // By names its files would not be checked.
  if (elsewhere === undefined && damaged !== undefined) throw corrupt(base, damaged);
  return elsewhere === undefined ? bare(place, id, kind) : fromCatalogue(elsewhere, base);
}

/** A folder's name as it is written; one with a lone "%" stays as it is. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** What an index has; nothing where there is none. */
async function indexed(base: URL): Promise<Catalogue> {
  try {
    return await catalogue(base);
  } catch (thrown) {
    if (thrown instanceof MultiheadError && thrown.code === 'model-not-found') {
      return { models: [], unreadable: [] };
    }
    throw thrown;
  }
}

/** A folder that no index knows: what is asked for comes first, and what it is instead is told by whoever asked. */
async function bare(place: URL, id: string, kind: ModelKind | undefined): Promise<FoundModel> {
  const ways: ((place: URL, id: string) => Promise<FoundModel | undefined>)[] = [byNames, encoderIn];
  if (kind === 'encoder') ways.reverse();
  for (const way of ways) {
    const model = await way(place, id);
    if (model !== undefined) return model;
  }
  const [, from, to] = PAIR.exec(id) ?? [];
  const pair = from === undefined ? '' : `.${from}${to}`;
  const what =
    kind === 'encoder'
      ? 'there is no config.json (with tokenizer.json and model.safetensors)'
      : `there are no files model${pair}.*.bin and vocab${pair}.spm (or srcvocab and trgvocab)`;
  throw new MultiheadError(
    `no model in ${place.href}: no index.json beside or in it lists one, and ${what}. Write the folder with: npx multihead models add`,
    { code: 'model-not-found', option: 'model' },
  );
}

async function encoderIn(place: URL, id: string): Promise<FoundModel | undefined> {
  return (await encoderSource()).encoderFolder(place, id);
}

/** Not every page needs it. */
function encoderSource(): Promise<typeof encoderSourcePart> {
  return part('encoder-source.js', import('./encoder-source.js'));
}

/** Folders are named by their pair of languages. */
const PAIR = /^([a-z]{2,3})[-_]?([a-z]{2,3})$/;

async function byNames(place: URL, id: string): Promise<FoundModel | undefined> {
  const [, from, to] = PAIR.exec(id) ?? [];
  const pair = from === undefined ? '' : `.${from}${to}`;
  const first = (...names: string[]): Promise<SourceFile | undefined> => firstOf(place, [...new Set(names)]);
  const files = await Promise.all([
    first(`model${pair}.intgemm.alphas.bin`, `model${pair}.intgemm8.bin`, `model${pair}.bin`, 'model.bin'),
    first(`vocab${pair}.spm`, 'vocab.spm'),
    first(`srcvocab${pair}.spm`, 'srcvocab.spm'),
    first(`trgvocab${pair}.spm`, 'trgvocab.spm'),
    first(`lex.50.50${pair}.s2t.bin`, `lex${pair}.s2t.bin`, 'lex.bin'),
  ]);
  const [model, vocab, sourceVocab, targetVocab] = files;
  const isWhole =
    model !== undefined && (vocab !== undefined || (sourceVocab !== undefined && targetVocab !== undefined));
  if (!isWhole) return undefined;
  return {
    id,
    key: place.href,
    ...(from === undefined || to === undefined ? {} : { from, to }),
    files: files.filter((file) => file !== undefined),
  };
}

/** The first file that is there, plain or gzip. */
async function firstOf(place: URL, names: readonly string[]): Promise<SourceFile | undefined> {
  for (const name of names) {
    for (const ending of ['', '.gz']) {
      const origin = new URL(`${name}${ending}`, place);
      const there = await probe(origin).catch((cause: unknown) => {
        if (cause instanceof MultiheadError) throw cause;
        throw new MultiheadError(`${origin.href} could not be asked for: ${reasonOf(cause)}`, {
          code: 'download-failed',
          file: name,
          cause,
        });
      });
      if (there === undefined) continue;
      return { name, origin, ...(there.bytes === undefined ? {} : { transferBytes: there.bytes }) };
    }
  }
  return undefined;
}
