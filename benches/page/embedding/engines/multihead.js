// Our side: the npm package as a page uses it.

import { configure, Embedder, memoryUsage } from '/pkg/dist/index.js';

/** `base`: where models are, with their index; `precision`: 'float32' or 'int8'; `device`: 'cpu' or 'webgpu'. */
export async function load({ base, model, precision, device, threads }) {
  configure({ modelBase: base, cache: 'none' });
  const embedder = await Embedder.create({ model, precision, device, threads });
  if (embedder.device !== device) throw new Error(`computes on the ${embedder.device}: ${embedder.deviceReason}`);
  if (embedder.precision !== precision) throw new Error(`computes with ${embedder.precision}`);
  return {
    about: embedder.deviceReason,
    async embed(/** @type {string | string[]} */ input) {
      const vectors = await embedder.embed(input);
      return Array.isArray(vectors) ? vectors : [vectors];
    },
    wasmBytes: async () => (await memoryUsage()).wasm,
  };
}
