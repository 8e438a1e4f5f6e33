// The same calls in Firefox.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launchFirefox } from './firefox.mjs';
import { floresLines, SENTENCES, translateNatively } from './native.mjs';
import { startServer } from './server.mjs';

/** @type {Awaited<ReturnType<typeof startServer>>} */
let server;
/** @type {Awaited<ReturnType<typeof launchFirefox>>} */
let firefox;

before(async () => {
  server = await startServer();
  firefox = await launchFirefox();
});
after(async () => {
  await firefox?.close();
  await server.close();
});

test('translate() in Firefox gives the text of the native command line', async () => {
  await firefox.goto(`${server.origin}/tests/e2e/blank.html`);
  for (const [model, from, to] of /** @type {const} */ ([
    ['en-pt', 'en', 'pt'],
    ['pt-en', 'pt', 'en'],
  ])) {
    const lines = [...SENTENCES[model], ...floresLines(from, 30)];
    const expected = await translateNatively(model, lines);
    const got = await firefox.run(
      `const { translate } = await import(location.origin + '/pkg/dist/index.js');
       return translate(args[0], { from: args[1], to: args[2] });`,
      lines,
      from,
      to,
    );
    assert.deepEqual(got, expected);
  }
});

test('the page translates in Firefox', async () => {
  const text = 'The cat sleeps on the warm stones.';
  const [expected] = await translateNatively('en-pt', [text]);
  await firefox.goto(`${server.origin}/`);
  const got = await firefox.run(
    `const source = document.querySelector('textarea');
     source.value = args[0];
     source.dispatchEvent(new Event('input'));
     for (let wait = 0; wait < 600; wait++) {
       if (document.querySelector('output').textContent === args[1]) break;
       await new Promise((resolve) => setTimeout(resolve, 100));
     }
     return document.querySelector('output').textContent;`,
    text,
    expected,
  );
  assert.equal(got, expected);
});
