// Language models in hands that do odd things, with SmolLM2 as `cargo xtask models` has put it into the repository.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { configure, LanguageModel, memoryUsage, unload } from 'multihead';
import { Engine } from '../dist/engine.js';

configure({ modelBase: new URL('../../models/', import.meta.url) });

/** @type {LanguageModel} */
let model;

before(async () => {
  model = await LanguageModel.create({ temperature: 0 });
});
after(async () => {
  model.destroy();
  await unload();
  // The worker ends once it has closed what is open.
  while ((await memoryUsage()).wasm > 0);
});

test('a clone that is aborted once the worker was asked leaves no session there', async () => {
  const request = /** @type {(...asked: any[]) => any} */ (Reflect.get(Engine.prototype, 'request'));
  /** @type {number[]} */
  const forked = [];
  /** @type {number[]} */
  const closed = [];
  const stop = new AbortController();
  Reflect.set(
    Engine.prototype,
    'request',
    /** @this {Engine} */ function (
      /** @type {any} */ kind,
      /** @type {any} */ ask,
      /** @type {any} */ options,
    ) {
      const answer = request.call(this, kind, ask, options);
      if (kind === 'close') closed.push(ask.session);
      if (kind === 'fork') {
        forked.push(ask.as);
        stop.abort();
      }
      return answer;
    },
  );
  try {
    await assert.rejects(model.clone({ signal: stop.signal }), { name: 'AbortError' });
    assert.equal(forked.length, 1);
    assert.deepEqual(closed, forked);
  } finally {
    Reflect.set(Engine.prototype, 'request', request);
  }
  const clone = await model.clone();
  assert.equal(await clone.prompt('Hi', { maxNewTokens: 1 }), await model.prompt('Hi', { maxNewTokens: 1 }));
  clone.destroy();
});
