// The worker of Node.

import { readFile } from 'node:fs/promises';
import { parentPort } from 'node:worker_threads';
import init, { TranslationModel } from '../../wasm/multihead.js';
import type { ToWorker } from '../protocol.js';
import { serve, type Wasm } from '../serve.js';

async function compile(wasmBase: string | undefined): Promise<Wasm> {
  const url = new URL('multihead_bg.wasm', wasmBase ?? new URL('../../wasm/', import.meta.url));
  const { memory } = await init({ module_or_path: await readFile(url) });
  return { memory, TranslationModel };
}

const receive = serve(
  {
    post: (message, transfer) => {
      parentPort?.postMessage(message, transfer);
    },
  },
  compile,
);
parentPort?.on('message', (message: ToWorker) => {
  receive(message);
});
