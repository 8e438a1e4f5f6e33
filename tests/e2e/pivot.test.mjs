// Translation through English in Chromium: two models for a pair that has none of its own.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { inChromium, openBlank } from './chromium.mjs';
import { translateNatively } from './native.mjs';
import { fileOf } from './server.mjs';

const { server, blank } = inChromium({});

/** The repository's index, in which en-pt is one to another language: pt → xx has only the way through English. */
function chainIndex() {
  /** @type {{ models: { id: string, to: string, base: string }[] }} */
  const index = JSON.parse(readFileSync(fileOf('/models/index.json'), 'utf8'));
  for (const model of index.models) {
    model.base = `/models/${model.base}`;
    if (model.id === 'en-pt') Object.assign(model, { id: 'en-xx', to: 'xx' });
  }
  return JSON.stringify(index);
}

test('both models load at once, with one progress; the next page has them', async () => {
  const text = 'O gato dorme nas pedras quentes. Quanto custa enviar esta carta?';
  const [english = ''] = await translateNatively('pt-en', [text]);
  const [expected] = await translateNatively('en-pt', [english]);

  /** Answers that wait until both models are asked for. @type {(() => void)[]} */
  let held = [];
  server().state.fault = (_, response, path) => {
    if (path === '/chain/index.json') {
      response.end(chainIndex());
      return true;
    }
    if (!/model\..*\.bin$/.test(path)) return false;
    held.push(() => response.end(readFileSync(fileOf(path))));
    if (held.length === 2) {
      for (const give of held) give();
      held = [];
    }
    return true;
  };

  const { page, close } = await blank();
  const translate = async () => {
    await openBlank(page, server());
    return page.evaluate(async (source) => {
      multihead.configure({ modelBase: '/chain/' });
      const pair = { sourceLanguage: 'pt', targetLanguage: 'xx' };
      const states = [await multihead.Translator.availability(pair)];
      /** @type {number[]} */
      const seen = [];
      const translator = await multihead.Translator.create({
        ...pair,
        monitor: (monitor) => {
          monitor.addEventListener('downloadprogress', ({ loaded }) => seen.push(loaded));
        },
      });
      states.push(await multihead.Translator.availability(pair));
      const translated = await translator.translate(source);
      translator.destroy();
      return { states, seen, translated };
    }, text);
  };
  const first = await translate();
  assert.deepEqual(first.states, ['downloadable', 'available']);
  assert.equal(first.translated, expected);
  assert.deepEqual([first.seen[0], first.seen.at(-1)], [0, 1]);
  assert.deepEqual(
    first.seen,
    first.seen.toSorted((a, b) => a - b),
  );
  const start = server().state.requests.length;
  const second = await translate();
  assert.deepEqual(second.states, ['available', 'available']);
  assert.equal(second.translated, expected);
  assert.deepEqual(
    server()
      .state.requests.slice(start)
      .filter((path) => path.startsWith('/models/')),
    [],
  );
  await close();
});
