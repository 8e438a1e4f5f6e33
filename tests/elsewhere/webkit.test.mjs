// The package in WebKit.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { floresLines, SENTENCES, translateNatively } from '../e2e/native.mjs';
import { startServer } from '../e2e/server.mjs';
import { launchWebKit } from './webkit.mjs';

/** @type {Awaited<ReturnType<typeof startServer>>} */
let server;
/** @type {Awaited<ReturnType<typeof launchWebKit>>} */
let webkit;

before(async () => {
  server = await startServer();
  webkit = await launchWebKit();
});
after(async () => {
  await webkit?.close();
  await server.close();
});

test('translate() in WebKit gives the text of the native command line', async () => {
  const lines = [...SENTENCES['en-pt'], ...floresLines('en', 10)];
  const expected = await translateNatively('en-pt', lines);
  await webkit.goto(`${server.origin}/tests/e2e/blank.html`);
  const got = await webkit.run(
    `const { translate } = await import(location.origin + '/pkg/dist/index.js');
     return translate(args[0], { from: 'en', to: 'pt' });`,
    lines,
  );
  assert.deepEqual(got, expected);
});
