// The package's worker with threads of which the last says at once that it has trapped.

import { becomeThread, instantiate, patience } from '../../pkg/dist/instance.js';
import { serve } from '../../pkg/dist/serve.js';
import { translating } from '../../pkg/dist/translation-host.js';
import { TRANSLATION_MODULES } from '../../pkg/dist/translation-modules.js';
import { initSync, loseThread } from '../../pkg/wasm/multihead_threads.js';

// The one that is lost has to be there before there is work.
patience.thread = 600_000;

const scope = /** @type {Worker} */ (/** @type {unknown} */ (globalThis));
let started = 0;

/** @type {import('../../pkg/dist/instance.js').Host} */
const host = {
  isolated: true,
  compile: async (url) => WebAssembly.compileStreaming(fetch(url)),
  startThread(message, entered) {
    started++;
    const thread = new Worker(location.href, { type: 'module', name: started === 2 ? 'lost' : 'thread' });
    thread.addEventListener('message', () => {
      entered(true);
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
  async (start) => translating(await instantiate(host, TRANSLATION_MODULES, start)),
);
scope.addEventListener('message', ({ data }) => {
  const message =
    /** @type {import('../../pkg/dist/protocol.js').ToWorker | import('../../pkg/dist/instance.js').ThreadMessage} */ (
      data
    );
  if (message.kind !== 'thread') {
    receive(message);
  } else if (self.name === 'lost') {
    const { module, memory } = message;
    initSync({ module, memory, thread_stack_size: 1 << 18 });
    loseThread();
    scope.postMessage('entered');
  } else {
    becomeThread(TRANSLATION_MODULES, message, () => {
      scope.postMessage('entered');
    });
  }
});
