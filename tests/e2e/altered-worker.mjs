// The package's worker with two things changed: a text that says "trap" makes the wasm trap, and between two looks at
// the messages it does one step, however quick the machine is.

import { serve } from '../../pkg/dist/serve.js';
import { TranslationHost } from '../../pkg/dist/translation-host.js';
import init, { TranslationModel } from '../../pkg/wasm/multihead_simd128.js';

class Altered extends TranslationModel {
  /** @override @param {string[]} texts @param {object} options */
  start(texts, options) {
    if (texts.includes('trap')) throw new WebAssembly.RuntimeError('unreachable');
    const job = super.start(texts, options);
    const step = job.step.bind(job);
    job.step = () => step(0);
    return job;
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
    open: (files, options) => new TranslationHost(new Altered(files, options)),
    computes: Promise.resolve('SIMD, 1 thread'),
  }),
);
scope.addEventListener('message', ({ data }) => {
  receive(/** @type {import('../../pkg/dist/protocol.js').ToWorker} */ (data));
});
