// Housekeeping: what models there are, what is kept on the device, what is in memory.

import { catalogue } from './catalogue.js';
import { modelBase } from './configure.js';
import { bytesTaken } from './engine.js';
import { isKept, removeKept, totalBytes } from './loader.js';
import { SharedModel } from './shared-model.js';
import { find } from './find.js';
import { type FoundModel, fromCatalogue } from './sources.js';
import type { MemoryUsage, ModelInfo, ModelSource } from './types.js';

/** Models of the index, and those kept on this device. */
export const models = {
  /** All models of the index. */
  async list(): Promise<ModelInfo[]> {
    const base = modelBase();
    return Promise.all(
      (await catalogue(base)).models.map(async (model) => {
        const found = fromCatalogue(model, base);
        const { base: _folder, files, ...facts } = model;
        return {
          ...facts,
          tasks: [...facts.tasks],
          bytes: totalBytes(found) ?? 0,
          cached: await isKept(found),
          files: files.map(({ name, bytes, sha256 }) => ({ name, bytes, sha256 })),
        };
      }),
    );
  },

  /** Whether the model loads without the network. */
  async isCached(model: ModelSource): Promise<boolean> {
    return (await Promise.all((await meant(model)).map(isKept))).some(Boolean);
  },

  /** Removes the model's files from this device; whether there were any. */
  async delete(model: ModelSource): Promise<boolean> {
    return (await Promise.all((await meant(model)).map(removeKept))).some(Boolean);
  },
};

/** What the name stands for: of a repository with models of two kinds, both. */
async function meant(model: ModelSource): Promise<FoundModel[]> {
  const found = await find(model);
  const encoder = await find(model, 'encoder');
  return found.key === encoder.key ? [found] : [found, encoder];
}

/** Memory taken now, in bytes. */
export async function memoryUsage(): Promise<MemoryUsage> {
  const running = SharedModel.every().flatMap((model) => {
    const { info, bytes, found } = model;
    return info === undefined ? [] : [{ id: found.id, bytes, device: info.device }];
  });
  return { ...(await bytesTaken()), models: running };
}

/**
 * Frees the memory of one model, or of all. Translations under way finish first, and a Translator loads its model again
 * when used; who waits for a model that is still loading gets an AbortError.
 */
export async function unload(model?: ModelSource): Promise<void> {
  const keys = model === undefined ? undefined : (await meant(model)).map(({ key }) => key);
  const chosen = SharedModel.every().filter(({ found }) => keys?.includes(found.key) !== false);
  await Promise.all(chosen.map((loaded) => loaded.unload()));
  // What destroy() began to free just before.
  await SharedModel.left();
}
