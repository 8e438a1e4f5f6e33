// What the package's workers in a browser have in common: they serve a page, and the threads that one starts are
// workers of the same script.

import { becomeThread, instantiate, type Host, type Instance, type ThreadMessage } from './instance.js';
import type { Glue, Modules } from './modules.js';
import type { FromWorker, ToWorker } from './protocol.js';
import { serve, type Wasm } from './serve.js';

/** What is used of a worker's global scope. */
interface WorkerScope {
  postMessage(message: FromWorker | 'entered', transfer: ArrayBuffer[]): void;
  addEventListener(type: 'message', listener: (event: MessageEvent<ToWorker | ThreadMessage>) => void): void;
}

const scope = globalThis as unknown as WorkerScope;

const host: Host = {
  isolated: globalThis.crossOriginIsolated,
  compile: compileFrom,
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

/** Compiles what a browser fetches. */
export async function compileFrom(url: URL): Promise<WebAssembly.Module> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`HTTP status ${response.status}`);
  // Servers that do not know the ending send another type, with which nothing is compiled as it comes.
  return response.headers.get('content-type')?.startsWith('application/wasm') === true
    ? WebAssembly.compileStreaming(response)
    : WebAssembly.compile(await response.arrayBuffer());
}

/** Serves what a family's modules can do, and is a thread of theirs where that is asked for. */
export function work<Script extends Glue>(
  modules: Modules<Script>,
  offered: (instance: Instance<Script>) => Wasm,
): void {
  const receive = serve(
    {
      post: (message, transfer) => {
        scope.postMessage(message, transfer);
      },
    },
    async (start) => offered(await instantiate(host, modules, start)),
  );
  scope.addEventListener('message', ({ data }) => {
    if (data.kind !== 'thread') {
      receive(data);
      return;
    }
    becomeThread(modules, data, () => {
      scope.postMessage('entered', []);
    });
  });
}
