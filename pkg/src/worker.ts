// The module worker of a browser.

import init, { TranslationModel } from '../wasm/multihead.js';
import { MultiheadError, reasonOf } from './errors.js';
import type { FromWorker, ToWorker } from './protocol.js';
import { serve, type Wasm } from './serve.js';

/** What is used of a worker's global scope. */
interface WorkerScope {
  postMessage(message: FromWorker, transfer: ArrayBuffer[]): void;
  addEventListener(type: 'message', listener: (event: MessageEvent<ToWorker>) => void): void;
}

const scope = globalThis as unknown as WorkerScope;

async function compile(wasmBase: string | undefined): Promise<Wasm> {
  const url = wasmBase === undefined ? undefined : new URL('multihead_bg.wasm', wasmBase);
  try {
    const { memory } = await init(url === undefined ? undefined : { module_or_path: url });
    return { memory, TranslationModel };
  } catch (cause) {
    throw new MultiheadError(
      `multihead_bg.wasm could not be loaded: ${reasonOf(cause)}. Is it served beside the package, and does the page's CSP have 'wasm-unsafe-eval'? See configure({ wasmBase })`,
      { code: 'download-failed', file: 'multihead_bg.wasm' },
    );
  }
}

const receive = serve(
  {
    post: (message, transfer) => {
      scope.postMessage(message, transfer);
    },
  },
  compile,
);
scope.addEventListener('message', ({ data }) => {
  receive(data);
});
