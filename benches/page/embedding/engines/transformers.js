// Transformers.js on ONNX Runtime's wasm.

import { openTransformers } from '../../transformers.js';

/** `base`, `name`: the folder of the exported model, and its name there; `build`: of ONNX Runtime; `dtype`: which of the
 * model's files. */
export async function load({ base, name, build, dtype, threads }) {
  const { transformers, wasm } = await openTransformers({ base, build, threads });
  const extract = await transformers.pipeline('feature-extraction', name, { dtype, device: 'wasm' });
  return {
    about: wasm,
    async embed(/** @type {string | string[]} */ input) {
      const { data, dims } = await extract(input, { pooling: 'mean', normalize: true });
      const [texts, dimensions] = dims;
      return Array.from({ length: texts }, (_, at) => data.slice(at * dimensions, (at + 1) * dimensions));
    },
  };
}
