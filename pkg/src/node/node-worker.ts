// What the package's workers in Node have in common.

import { readFile } from 'node:fs/promises';
import { parentPort, Worker } from 'node:worker_threads';
import { becomeThread, instantiate, type Host, type Instance, type ThreadMessage } from '../instance.js';
import type { Glue, Modules } from '../modules.js';
import type { ToWorker } from '../protocol.js';
import { serve, type Wasm } from '../serve.js';

/** Serves what a family's modules can do; its threads are workers of `script`, which calls this. */
export function work<Script extends Glue>(
  script: string,
  modules: Modules<Script>,
  offered: (instance: Instance<Script>) => Wasm,
): void {
  const host: Host = {
    isolated: true,
    compile: async (url) => WebAssembly.compile(await readFile(url)),
    startThread(message, entered) {
      // It ends with this worker.
      const thread = new Worker(new URL(script), { execArgv: [] });
      thread.on('message', () => {
        entered(true);
      });
      thread.on('error', () => {
        entered(false);
      });
      thread.postMessage(message);
    },
  };
  const receive = serve(
    {
      post: (message, transfer) => {
        parentPort?.postMessage(message, transfer);
      },
    },
    async (start) => offered(await instantiate(host, modules, start)),
  );
  parentPort?.on('message', (message: ToWorker | ThreadMessage) => {
    if (message.kind !== 'thread') {
      receive(message);
      return;
    }
    becomeThread(modules, message, () => {
      parentPort?.postMessage('entered');
    });
  });
}
