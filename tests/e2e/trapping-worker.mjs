// The package's worker with a fault let in: a text that says "trap" makes the wasm trap.

import { serve } from '../../pkg/dist/serve.js';
import init, { TranslationModel } from '../../pkg/wasm/multihead_simd128.js';

class Trapping extends TranslationModel {
  /** @override @param {string[]} texts @param {object} options */
  start(texts, options) {
    if (texts.includes('trap')) throw new WebAssembly.RuntimeError('unreachable');
    return super.start(texts, options);
  }
}

const scope = /** @type {Worker} */ (/** @type {unknown} */ (globalThis));
const receive = serve(
  {
    post: (message, transfer) => {
      scope.postMessage(message, transfer);
    },
  },
  async () => ({
    memory: (await init()).memory,
    TranslationModel: Trapping,
    computes: Promise.resolve('SIMD, 1 thread'),
  }),
);
scope.addEventListener('message', ({ data }) => {
  receive(/** @type {import('../../pkg/dist/protocol.js').ToWorker} */ (data));
});
