// The worker of Node, and the threads that it starts.

import { readFile } from 'node:fs/promises';
import { parentPort, Worker } from 'node:worker_threads';
import { becomeThread, instantiate, type Host, type ThreadMessage } from '../instance.js';
import type { ToWorker } from '../protocol.js';
import { serve } from '../serve.js';

const host: Host = {
  isolated: true,
  compile: async (url) => WebAssembly.compile(await readFile(url)),
  startThread(message, entered) {
    // It ends with this worker.
    const thread = new Worker(new URL(import.meta.url), { execArgv: [] });
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
  (start) => instantiate(host, start),
);
parentPort?.on('message', (message: ToWorker | ThreadMessage) => {
  if (message.kind !== 'thread') {
    receive(message);
    return;
  }
  becomeThread(message, () => {
    parentPort?.postMessage('entered');
  });
});
