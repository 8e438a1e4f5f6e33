// wllama since version 3: llama.cpp's server in a worker; a completion streams a piece for every token.

import { Wllama } from '/benches/node_modules/wllama-newest/esm/index.min.js';

const PATHS = { default: '/benches/node_modules/wllama-newest/esm/wasm/wllama.wasm' };
/** What llama.cpp says, if it is asked to say all, of where it puts a layer. */
const ASSIGNED = /layer +\d+ assigned to device (\w+)/gu;

/** `file`: address of a GGUF file; `device`: 'cpu', or 'webgpu' with all layers; `batch`: prompt tokens a call, absent: the
 * package's own number. */
export async function load({ file, threads, context, device, batch }) {
  const said = [];
  const listen = (...words) => said.push(words.join(' '));
  const logger = { debug: listen, log: listen, warn: console.warn, error: console.error };
  const onGpu = device === 'webgpu';
  const wllama = new Wllama(PATHS, { logger, suppressNativeLog: !onGpu });
  // Else it may fetch a build for other browsers from a server of its own.
  wllama.setCompat(null);
  const blob = await (await fetch(file)).blob();
  await wllama.loadModel([blob], {
    n_ctx: context,
    n_threads: threads,
    // 1: all that there is to say.
    ...(onGpu ? { log_level: 1 } : { n_gpu_layers: 0 }),
    n_parallel: 1,
    ...(batch === undefined ? {} : { n_batch: batch, n_ubatch: batch }),
  });
  if (wllama.getNumThreads() !== threads) throw new Error(`computes on ${wllama.getNumThreads()} threads`);
  if (onGpu) await checkLayers(said.join('\n'));
  const { n_batch: read, n_ubatch: computed } = wllama.getLoadedContextInfo();
  return {
    about: `${onGpu ? 'webgpu, ' : ''}batches of ${read}, ${computed} at a time`,
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

/** Throws unless all layers are on the GPU. */
async function checkLayers(said) {
  const devices = new Set([...said.matchAll(ASSIGNED)].map(([, device]) => device));
  if (devices.size > 0 && [...devices].every((device) => /gpu/iu.test(device))) return;
  const adapter = await navigator.gpu.requestAdapter();
  const half = adapter?.features.has('shader-f16') ? 'has shader-f16' : 'has no shader-f16';
  throw new Error(
    `its layers are on: ${[...devices].join(', ') || 'nothing it tells of'}; the adapter ${half}`,
  );
}
