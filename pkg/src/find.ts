// From what the caller names as a model to that model.

import { catalogue, type CatalogueModel, corrupt } from './catalogue.js';
import { folderAddress, modelBase } from './configure.js';
import { invalid, MultiheadError, part, shown } from './errors.js';
import { folder } from './folder.js';
import type { ModelKind } from './kinds.js';
import { reading } from './options.js';
import { fromCatalogue, given, isFiles, type FoundModel } from './sources.js';
import type { ModelSource } from './types.js';

/** The hub of "owner/name", whose pages some write with a slash at their end. */
const HUB_PAGE = /^https:\/\/(huggingface\.co|hf\.co)\//;

/**
 * Finds `source`: an id of the index, the address of a folder or a file, a name on Hugging Face, or files by name.
 * `kind`: what it is wanted for, where one place has models of several kinds.
 */
export async function find(source: ModelSource, kind?: ModelKind): Promise<FoundModel> {
  const known: unknown = source;
  if (typeof known !== 'string' && !isFiles(known) && !(known instanceof URL)) {
    throw invalid('model', `an id, an address or { files: {…} } expected, got ${shown(known)}`);
  }
  if (isFiles(source)) return given(source.files);
  const text = reading('model', () => String(source));
  if (text.endsWith('/') && !HUB_PAGE.test(text)) return folder(folderAddress(text, 'model'), kind);
  const isAddress = source instanceof URL;
  // Not every page needs it.
  if (isAddress || /[/:?]|\.gguf$/i.test(text)) {
    const { ggufSource } = await part('gguf-source.js', import('./gguf-source.js'));
    return ggufSource(text, isAddress, kind);
  }
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
  return new MultiheadError(
    `no model ${shown(id)} in the index of ${base.href}; there: ${there}. npx multihead models add fetches more`,
    {
      code: 'model-not-found',
      option: 'model',
    },
  );
}
