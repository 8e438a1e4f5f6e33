// Odd input of every kind from the caller: a typed error that names the option, or an answer; and the next call works.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { configure, LiveTranslation, models, MultiheadError, Translator, translate, unload } from 'multihead';
import { configuration } from '../dist/configure.js';

const MODELS = new URL('../../models/', import.meta.url);
configure({ modelBase: MODELS });
const PAIR = { from: 'en', to: 'pt' };

/** @param {string} option @param {RegExp} [message] */
const wrong = (option, message) => (/** @type {unknown} */ error) => {
  assert(error instanceof MultiheadError, String(error));
  assert.deepEqual([error.code, error.option], ['invalid-argument', option], error.message);
  if (message !== undefined) assert.match(error.message, message);
  return true;
};

test('options are read once: a getter that answers otherwise the next time changes nothing', async () => {
  /** @type {string[]} */
  const asked = [];
  const options = new Proxy(
    { ...PAIR, beamSize: 1, threads: 1 },
    {
      get(target, name) {
        asked.push(String(name));
        return asked.indexOf(String(name)) < asked.length - 1 ? 'changed' : Reflect.get(target, name);
      },
    },
  );
  assert.equal(await translate('Good morning.', options), 'Bom dia.');
  assert.deepEqual(asked, [...new Set(asked)]);
});

test('what cannot be read is named', async () => {
  const thrower = (/** @type {string} */ name) =>
    Object.defineProperty({ ...PAIR }, name, {
      enumerable: true,
      get() {
        throw new Error('out of order');
      },
    });
  for (const name of ['from', 'to', 'model', 'beamSize', 'signal', 'monitor', 'html']) {
    await assert.rejects(translate('x', thrower(name)), wrong(name, /cannot be read: out of order/));
  }
  const { proxy, revoke } = Proxy.revocable(/** @type {any} */ ([]), {});
  revoke();
  await assert.rejects(translate('x', proxy), wrong('options'));
  await assert.rejects(translate(proxy, PAIR), wrong('text'));
  assert.throws(() => {
    configure(proxy);
  }, wrong('options'));
});

test('what is thrown without a text, and a signal that cannot be asked, are named', async () => {
  const { proxy, revoke } = Proxy.revocable(/** @type {any} */ ({}), {});
  revoke();
  const textless = Object.assign(new Error('x'), { message: Object.create(null) });
  for (const thrown of [Object.create(null), proxy, textless]) {
    const options = {
      ...PAIR,
      /** @returns {number} */
      get beamSize() {
        throw thrown;
      },
    };
    await assert.rejects(translate('x', options), (/** @type {any} */ error) => {
      assert.equal(error.cause, thrown);
      return wrong('beamSize', /cannot be read: what was thrown has no text/)(error);
    });
  }
  await assert.rejects(translate('x', { ...PAIR, signal: proxy }), wrong('signal', /cannot be read/));
  assert.throws(
    () => {
      configure({ modelBase: proxy });
    },
    wrong('modelBase', /cannot be read/),
  );
});

test('an option that is undefined is left out: configure() keeps its value', () => {
  const names = ['modelBase', 'wasmBase', 'workerUrl', 'cache', 'memoryLimit', 'fetch'];
  configure({ memoryLimit: Number.MAX_SAFE_INTEGER, cache: 'none' });
  const before = { ...configuration() };
  configure(/** @type {any} */ (Object.fromEntries(names.map((name) => [name, undefined]))));
  assert.equal(before.modelBase, MODELS.href);
  assert.deepEqual({ ...configuration() }, before);
  configure({ cache: 'default' });
});

test('what is on Object.prototype is no option', async () => {
  const added = { beamSize: 'x', model: 'pt-en', monitor: 7, memoryLimit: -1 };
  Object.assign(Object.prototype, added);
  try {
    assert.equal(await translate('Good morning.', PAIR), 'Bom dia.');
    configure({});
  } finally {
    for (const name of Object.keys(added)) Reflect.deleteProperty(Object.prototype, name);
  }
});

test('a buffer that is gone, addresses that hold no files, a long name', async () => {
  const gone = new ArrayBuffer(8);
  structuredClone(gone, { transfer: [gone] });
  await assert.rejects(translate('x', { ...PAIR, model: { files: { 'model.bin': gone } } }), wrong('model'));
  for (const address of ['data:text/plain,x/', 'javascript:x/', 'mailto:a@b.org/']) {
    await assert.rejects(translate('x', { ...PAIR, model: address }), wrong('model', /of a folder/));
    for (const name of ['modelBase', 'wasmBase']) {
      assert.throws(
        () => {
          configure({ [name]: address });
        },
        wrong(name, /of a folder/),
      );
    }
  }
  await assert.rejects(
    translate('x', { ...PAIR, model: 'x'.repeat(100_000) }),
    (/** @type {any} */ error) => {
      assert.equal(error.code, 'model-not-found');
      assert(error.message.length < 500);
      return true;
    },
  );
  // A file on the way to a folder: there is no model.
  const inFile = new URL('index.json/en-pt/', MODELS).href;
  await assert.rejects(translate('x', { ...PAIR, model: inFile }), { code: 'model-not-found' });
});

test('addresses given as objects are taken as they are now; a folder needs no slash', async () => {
  const base = new URL(MODELS);
  configure({ modelBase: base });
  base.pathname = '/elsewhere/';
  assert.equal(await models.isCached('en-pt'), false);
  await unload();
  configure({ wasmBase: new URL('../wasm', import.meta.url) });
  assert.equal(await translate('Good morning.', PAIR), 'Bom dia.');
});

test('a worker that cannot be started is an internal error that names workerUrl; the next call works', async () => {
  await unload();
  configure({ workerUrl: 'http://localhost/worker.js' });
  await assert.rejects(translate('x', PAIR), (/** @type {any} */ error) => {
    assert(error instanceof MultiheadError);
    assert.deepEqual([error.code, error.option], ['internal', 'workerUrl']);
    assert.match(error.message, /http:\/\/localhost\/worker\.js cannot be started/);
    return true;
  });
  configure({ workerUrl: new URL('../dist/node/worker.js', import.meta.url) });
  assert.equal(await translate('Good morning.', PAIR), 'Bom dia.');
});

/** Runs a script with the package; what it printed. @param {string} script */
function run(script) {
  const begin = `import { configure, LiveTranslation, Translator, translate, unload } from 'multihead';
    configure({ modelBase: ${JSON.stringify(MODELS.href)} });
    const pair = { sourceLanguage: 'en', targetLanguage: 'pt' };\n`;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', begin + script],
    { cwd: new URL('..', import.meta.url), encoding: 'utf8' },
  );
  assert.equal(status, 0, stderr);
  return { stdout, stderr };
}

test('listeners that throw, or are none, fail no call: their errors are uncaught ones', async () => {
  const { stdout } = run(`
    const uncaught = new Set();
    process.on('uncaughtException', (error) => uncaught.add(error.message));
    const fail = (message) => () => { throw new Error(message); };
    for (const monitor of [
      (m) => { m.ondownloadprogress = fail('handler'); },
      (m) => { m.addEventListener('downloadprogress', fail('listener')); },
      (m) => { m.ondownloadprogress = 5; },
    ]) {
      await Translator.create({ ...pair, monitor });
      await unload();
    }
    const translator = await Translator.create(pair);
    const live = new LiveTranslation(translator, { onProgress: fail('progress') });
    console.log((await live.update('Good morning.')).text, [...uncaught].sort().join());
    translator.destroy();`);
  assert.equal(stdout, 'Bom dia. handler,listener,progress\n');
  const translator = await Translator.create({ sourceLanguage: 'en', targetLanguage: 'pt' });
  for (const onProgress of /** @type {any[]} */ ([5, 'x', {}, null])) {
    assert.throws(() => new LiveTranslation(translator, { onProgress }), wrong('onProgress'));
  }
  translator.destroy();
});

test('hundreds of calls at once: each its answer, and Node warns of nothing', () => {
  const { stdout, stderr } = run(`
    const translator = await Translator.create(pair);
    const { signal } = new AbortController();
    const texts = Array.from({ length: 300 }, (_, number) => String(number));
    const answers = await Promise.all(texts.map((text) => translator.translate(text, { signal })));
    const others = await Promise.all(texts.map((text) => translate(text, { from: 'en', to: 'pt', signal })));
    console.log(answers.join() === texts.join(), others.join() === texts.join());`);
  assert.deepEqual([stdout, stderr], ['true true\n', '']);
});

test('a fetch of the caller that gives no Response is named', async () => {
  for (const [place, answer] of [undefined, 5, {}, { status: 200 }].entries()) {
    const fetch = /** @type {any} */ (() => answer);
    configure({ fetch, modelBase: `http://answers-${place}.test/` });
    await assert.rejects(models.list(), wrong('fetch', /has to give a Response/));
  }
});
