// From what the caller names as a model to that model.

import { catalogue, type CatalogueModel, corrupt } from './catalogue.js';
import { folderAddress, modelBase } from './configure.js';
import { invalid, MultiheadError, notBuilt, shown } from './errors.js';
import { folder } from './folder.js';
import { reading } from './options.js';
import { fromCatalogue, given, isFiles, type FoundModel } from './sources.js';
import type { ModelSource } from './types.js';

/** Finds `source`: an id of the index, the address of a folder, or files by name. */
export async function find(source: ModelSource): Promise<FoundModel> {
  const known: unknown = source;
  if (typeof known !== 'string' && !isFiles(known) && !(known instanceof URL)) {
    throw invalid('model', `an id, an address or { files: {…} } expected, got ${shown(known)}`);
  }
  if (isFiles(source)) return given(source.files);
  const text = reading('model', () => String(source));
  if (text.endsWith('/')) return folder(folderAddress(text, 'model'));
  if (source instanceof URL || /^[a-z][a-z0-9+.-]*:/i.test(text) || /\.\w+$/.test(text)) {
    throw notBuilt('a model given as the address of one file');
  }
  if (text.includes('/')) throw notBuilt('a model given as "owner/name"');
  const base = modelBase();
  const { models, unreadable } = await catalogue(base);
  const model = models.find(({ id }) => id === text);
  const damaged = unreadable.find(({ id }) => id === text);
  if (model === undefined && damaged !== undefined) throw corrupt(base, damaged);
  if (model === undefined) throw unknown(text, models, base);
  return fromCatalogue(model, base);
}

function unknown(id: string, models: readonly CatalogueModel[], base: URL): MultiheadError {
  const there = models.map((model) => model.id).join(', ') || 'none';
  return new MultiheadError(`no model ${shown(id)} in the index of ${base.href}; there: ${there}`, {
    code: 'model-not-found',
    option: 'model',
  });
}
