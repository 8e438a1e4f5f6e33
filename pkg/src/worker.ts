// The module worker of a browser, and the threads that it starts.

import { becomeThread, instantiate, type Host, type ThreadMessage } from './instance.js';
import type { FromWorker, ToWorker } from './protocol.js';
import { serve } from './serve.js';

/** What is used of a worker's global scope. */
interface WorkerScope {
  postMessage(message: FromWorker | 'entered', transfer: ArrayBuffer[]): void;
  addEventListener(type: 'message', listener: (event: MessageEvent<ToWorker | ThreadMessage>) => void): void;
}

const scope = globalThis as unknown as WorkerScope;

const host: Host = {
  isolated: globalThis.crossOriginIsolated,
  compile: async (url) => {
    const response = await fetch(url);
    if (!response.ok) throw new Error(`HTTP status ${response.status}`);
    // Servers that do not know the ending send another type, with which nothing is compiled as it comes.
    return response.headers.get('content-type')?.startsWith('application/wasm') === true
      ? WebAssembly.compileStreaming(response)
      : WebAssembly.compile(await response.arrayBuffer());
  },
  startThread(message, entered) {
    // This very script, wherever a bundler or configure({ workerUrl }) has put it. It ends with this worker.
    const thread = new Worker(location.href, { type: 'module', name: 'multihead thread' });
    thread.addEventListener('message', () => {
      entered(true);
    });
    thread.addEventListener('error', (event) => {
      event.preventDefault();
      entered(false);
    });
    thread.postMessage(message);
  },
};

const receive = serve(
  {
    post: (message, transfer) => {
      scope.postMessage(message, transfer);
    },
  },
  (start) => instantiate(host, start),
);
scope.addEventListener('message', ({ data }) => {
  if (data.kind !== 'thread') {
    receive(data);
    return;
  }
  becomeThread(data, () => {
    scope.postMessage('entered', []);
  });
});
