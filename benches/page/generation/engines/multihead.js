// Our side: the npm package as a page uses it.

import { configure, LanguageModel, memoryUsage } from '/pkg/dist/index.js';

/** `file`: address of a GGUF file; `device`: 'cpu' or 'webgpu'. */
export async function load({ file, threads, context, device }) {
  configure({ cache: 'none' });
  const options = {
    model: new URL(file, location.href).href,
    device,
    threads,
    contextWindow: context,
  };
  // Keeps the model loaded.
  const holder = await LanguageModel.create(options);
  if (holder.device !== device) throw new Error(`computes on the ${holder.device}: ${holder.deviceReason}`);
  let model = holder;
  return {
    about: holder.deviceReason,
    async begin() {
      if (model !== holder) model.destroy();
      model = await LanguageModel.create(options);
    },
    async complete({ text }, count) {
      const { text: written, stats } = await model.complete(text, { maxNewTokens: count, temperature: 0 });
      const { promptTokens, cachedTokens, newTokens } = stats;
      return { promptTokens, cachedTokens, newTokens, text: written };
    },
    async tokenize(text) {
      return (await holder.tokenize(text)).map(({ id, range: [start] }) => ({ id, start }));
    },
    wasmBytes: async () => (await memoryUsage()).wasm,
  };
}
