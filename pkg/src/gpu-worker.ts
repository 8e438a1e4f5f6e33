// The worker that computes on a GPU, in a browser.

import { compileFrom } from './browser-worker.js';
import { onGpu } from './gpu-host.js';
import { GPU_FILE, GPU_SCRIPT, GPU_URL } from './gpu-module.js';
import { compileModule } from './instance.js';
import type { FromWorker, ToWorker } from './protocol.js';
import { serve } from './serve.js';

/** What is used of a worker's global scope. */
interface WorkerScope {
  postMessage(message: FromWorker, transfer: ArrayBuffer[]): void;
  addEventListener(type: 'message', listener: (event: MessageEvent<ToWorker>) => void): void;
}

const scope = globalThis as unknown as WorkerScope;

const receive = serve(
  {
    post: (message, transfer) => {
      scope.postMessage(message, transfer);
    },
  },
  async ({ wasmBase }) => {
    const module = await compileModule(compileFrom, wasmBase, GPU_URL, GPU_FILE);
    const { memory } = await GPU_SCRIPT.default({ module_or_path: module });
    return onGpu(GPU_SCRIPT, memory);
  },
);
scope.addEventListener('message', ({ data }) => {
  receive(data);
});
