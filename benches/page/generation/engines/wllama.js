// wllama up to version 2: a completion calls back for every token.

import { Wllama } from '/benches/node_modules/@wllama/wllama/esm/index.min.js';

const PATHS = {
  'single-thread/wllama.wasm': '/benches/node_modules/@wllama/wllama/esm/single-thread/wllama.wasm',
  'multi-thread/wllama.wasm': '/benches/node_modules/@wllama/wllama/esm/multi-thread/wllama.wasm',
};
const quiet = { debug() {}, log() {}, warn: console.warn, error: console.error };

/** `file`: address of a GGUF file; `batch`: prompt tokens a call, absent: the package's own number. */
export async function load({ file, threads, context, batch }) {
  const wllama = new Wllama(PATHS, { logger: quiet, suppressNativeLog: true });
  const blob = await (await fetch(file)).blob();
  await wllama.loadModel([blob], {
    n_ctx: context,
    n_threads: threads,
    ...(batch === undefined ? {} : { n_batch: batch }),
  });
  if (wllama.getNumThreads() !== threads) throw new Error(`computes on ${wllama.getNumThreads()} threads`);
  const { n_batch: read, n_ubatch: computed } = wllama.getLoadedContextInfo();
  return {
    about: `batches of ${read}, ${computed} at a time`,
    async stream({ text, ids }, count, onToken) {
      let newTokens = 0;
      const written = await wllama.createCompletion(text, {
        nPredict: count,
        sampling: { temp: 0, top_k: 1 },
        // Clears what was read before.
        useCache: false,
        onNewToken() {
          newTokens += 1;
          onToken();
        },
      });
      const own = await wllama.tokenize(text, true);
      const same = own.length === ids.length && own.every((id, i) => id === ids[i]);
      if (!same) throw new Error(`read ${own.length} other tokens than those of the prompt`);
      return { promptTokens: own.length, newTokens, text: written };
    },
  };
}
