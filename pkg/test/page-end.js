// The page's end of a worker's queues, for tests.

import { serve } from '../dist/serve.js';

/**
 * A page's end with promises by call, to a worker that opens a model with `open`. What traps is told by `traps`.
 *
 * @param {(files: any) => unknown} open
 */
export function connectTo(open) {
  /** @type {Map<number, { pieces: string[], progress: number[], settle: (message: any) => void }>} */
  const calls = new Map();
  /** @type {any[]} */
  const traps = [];
  const receive = serve(
    {
      post(said, transfer) {
        if (said.kind === 'trap') {
          traps.push(said);
          return;
        }
        const message = structuredClone(said, { transfer });
        const call = calls.get(message.call);
        if (message.kind === 'piece') call?.pieces.push(message.text);
        else if (message.kind === 'progress') call?.progress.push(message.done);
        else call?.settle(message);
      },
    },
    async () =>
      /** @type {import('../dist/serve.js').Wasm} */ (
        /** @type {unknown} */ ({
          memory: { buffer: new ArrayBuffer(65536) },
          open,
          computes: Promise.resolve('letters, 1 thread'),
        })
      ),
  );
  let next = 1;
  /** @param {any} request */
  const ask = (request) => {
    const call = next++;
    /** @type {string[]} */
    const pieces = [];
    /** @type {number[]} */
    const progress = [];
    const promise = new Promise((settle) => {
      calls.set(call, { pieces, progress, settle });
    });
    receive(/** @type {import('../dist/protocol.js').ToWorker} */ ({ ...request, call }));
    return Object.assign(promise, { call, pieces, progress });
  };
  return { ask, receive, traps };
}
