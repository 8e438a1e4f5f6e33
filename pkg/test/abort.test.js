// Two signals as one, without AbortSignal.any.

import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { either } from '../dist/abort.js';

/** @param {AbortSignal} signal */
const listeners = (signal) => getEventListeners(signal, 'abort').length;

for (const [place, name] of /** @type {const} */ ([
  [0, 'first'],
  [1, 'second'],
])) {
  for (const early of [true, false]) {
    test(`the ${name} signal ends the work, aborted ${early ? 'before' : 'while'} it is done`, async () => {
      const stops = [new AbortController(), new AbortController()];
      const [first, second] = stops.map(({ signal }) => signal);
      assert(first !== undefined && second !== undefined);
      const reason = new Error(`by the ${name}`);
      const stop = () => stops[place]?.abort(reason);
      if (early) stop();
      const work = either(first, second, async (both) => {
        assert.equal(both.aborted, early);
        if (!early) stop();
        assert.equal(both.reason, reason);
        throw both.reason;
      });
      await assert.rejects(work, reason);
      assert.deepEqual([listeners(first), listeners(second)], [0, 0]);
    });
  }
}

test('signals that outlive a thousand calls are let go of by each', async () => {
  const [first, second] = [new AbortController().signal, new AbortController().signal];
  for (let call = 0; call < 1000; call++) {
    const answer = await either(first, second, async (both) => {
      assert.deepEqual([listeners(first), listeners(second), both.aborted], [1, 1, false]);
      return call;
    });
    assert.equal(answer, call);
  }
  assert.deepEqual([listeners(first), listeners(second)], [0, 0]);
  assert.equal(await either(undefined, second, async (signal) => signal), second);
});
