// Transformers.js on ONNX Runtime, on its wasm or through WebGPU.

import { openTransformers } from '../../transformers.js';

/** `base`, `name`: the folder of the exported model, and its name there; `build`: of ONNX Runtime; `dtype`: which of the
 * model's files; `device`: 'wasm' or 'webgpu'. */
export async function load({ base, name, build, dtype, device, threads }) {
  const { transformers, wasm } = await openTransformers({ base, build, threads });
  const extract = await transformers.pipeline('feature-extraction', name, { dtype, device });
  return {
    about: `${device}, ${wasm}`,
    async embed(/** @type {string | string[]} */ input) {
      const { data, dims } = await extract(input, { pooling: 'mean', normalize: true });
      const [texts, dimensions] = dims;
      return Array.from({ length: texts }, (_, at) => data.slice(at * dimensions, (at + 1) * dimensions));
    },
  };
}
