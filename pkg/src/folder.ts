// A model given as the address of its folder: described by an index, or told by the names that its files have in
// Firefox Translations.

import { catalogue, type Catalogue, corrupt } from './catalogue.js';
import { MultiheadError, reasonOf } from './errors.js';
import { probe } from './probe.js';
import { fromCatalogue, type FoundModel, type SourceFile } from './sources.js';

const found = new Map<string, Promise<FoundModel>>();

/** The model of the folder `place` (ends in "/"), looked for once per page; after a failure the next call tries again. */
export function folder(place: URL): Promise<FoundModel> {
  const known = found.get(place.href);
  if (known !== undefined) return known;
  const forget = (): void => {
    if (found.get(place.href) === model) found.delete(place.href);
  };
  const model = look(place).then((looked) => ({
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

/**
 * By the index beside the folder (`…/models/en-pt/` by `…/models/index.json`), the one in it, or names. A model of the
 * folder's name that the index beside it has elsewhere comes after the folder's own.
 */
async function look(place: URL): Promise<FoundModel> {
  const base = new URL('../', place);
  const id = decoded(place.pathname.slice(base.pathname.length, -1));
  const beside = await indexed(base);
  const listed = beside.models.find((model) => new URL(model.base, base).href === place.href);
  if (listed !== undefined) return fromCatalogue(listed, base);
  const [own, ...others] = (await indexed(place)).models;
  if (own !== undefined && others.length === 0) return fromCatalogue(own, place);
  const elsewhere = beside.models.find((model) => model.id === id);
  const damaged = beside.unreadable.find((entry) => entry.id === id);
  // By names its files would not be checked.
  if (elsewhere === undefined && damaged !== undefined) throw corrupt(base, damaged);
  return elsewhere === undefined ? byNames(place, id) : fromCatalogue(elsewhere, base);
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

async function byNames(place: URL, id: string): Promise<FoundModel> {
  const [, from, to] = /^([a-z]{2,3})[-_]?([a-z]{2,3})$/.exec(id) ?? [];
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
  if (!isWhole) {
    throw new MultiheadError(
      `no model in ${place.href}: no index.json beside or in it lists one, and there are no files model${pair}.*.bin and vocab${pair}.spm (or srcvocab and trgvocab). Write the folder with: npx multihead models add`,
      { code: 'model-not-found', option: 'model' },
    );
  }
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
