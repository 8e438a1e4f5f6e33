// Our side: the npm package as a page uses it.

import { configure, LanguageModel, memoryUsage } from '/pkg/dist/index.js';

/** `file`: address of a GGUF file. */
export async function load({ file, threads, context }) {
  configure({ cache: 'none' });
  const options = {
    model: new URL(file, location.href).href,
    device: 'cpu',
    threads,
    contextWindow: context,
  };
  // Keeps the model loaded.
  const holder = await LanguageModel.create(options);
  return {
    about: holder.deviceReason,
    isStreaming: false,
    async generate({ text }, count, onToken) {
      // A conversation of its own, which has read nothing.
      const model = await LanguageModel.create(options);
      const { text: written, stats } = await model.complete(text, { maxNewTokens: count, temperature: 0 });
      onToken();
      model.destroy();
      if (stats.cachedTokens > 0) throw new Error(`${stats.cachedTokens} tokens had been read before`);
      return { promptTokens: stats.promptTokens, newTokens: stats.newTokens, text: written };
    },
    async tokenize(text) {
      return (await holder.tokenize(text)).map(({ id, range: [start] }) => ({ id, start }));
    },
    wasmBytes: async () => (await memoryUsage()).wasm,
  };
}
