// wllama since version 3: llama.cpp's server in a worker; a completion streams a piece for every token.

import { Wllama } from '/benches/node_modules/wllama-newest/esm/index.min.js';

const PATHS = { default: '/benches/node_modules/wllama-newest/esm/wasm/wllama.wasm' };
const quiet = { debug() {}, log() {}, warn: console.warn, error: console.error };

/** `file`: address of a GGUF file; `batch`: prompt tokens a call, absent: the package's own number. */
export async function load({ file, threads, context, batch }) {
  const wllama = new Wllama(PATHS, { logger: quiet, suppressNativeLog: true });
  // Else it may fetch a build for other browsers from a server of its own.
  wllama.setCompat(null);
  const blob = await (await fetch(file)).blob();
  await wllama.loadModel([blob], {
    n_ctx: context,
    n_threads: threads,
    n_gpu_layers: 0,
    n_parallel: 1,
    ...(batch === undefined ? {} : { n_batch: batch, n_ubatch: batch }),
  });
  if (wllama.getNumThreads() !== threads) throw new Error(`computes on ${wllama.getNumThreads()} threads`);
  const { n_batch: read, n_ubatch: computed } = wllama.getLoadedContextInfo();
  return {
    about: `batches of ${read}, ${computed} at a time`,
    async stream({ text }, count, onToken) {
      let written = '';
      let usage;
      await wllama.createCompletion({
        prompt: text,
        max_tokens: count,
        temperature: 0,
        top_k: 1,
        ignore_eos: true,
        stream: true,
        onData(chunk) {
          const piece = chunk.choices[0]?.text ?? '';
          written += piece;
          usage = chunk.usage ?? usage;
          if (piece !== '') onToken();
        },
      });
      return { promptTokens: usage?.prompt_tokens, newTokens: usage?.completion_tokens, text: written };
    },
  };
}
