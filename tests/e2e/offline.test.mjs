// The demo page without a network: after the first visit it opens and translates, and never mixes two versions.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { demo } from './demo.mjs';
import { fileOf } from './server.mjs';

const { open, server } = demo();

/** @param {import('playwright-core').Page} page */
const kept = (page) => page.getByText(/Works without a network from now on/).waitFor({ timeout: 60_000 });

/** No network at all: the browser is cut off, and the server would answer nothing anyway. */
function unplug(/** @type {import('playwright-core').BrowserContext} */ context) {
  server().state.fault = (_, response) => {
    response.destroy();
    return true;
  };
  return context.setOffline(true);
}

test('after one visit the page opens and translates without a network', async () => {
  const { page, context, source, target, done, close, problems } = await open();
  await page.goto(`${server().origin}/`);
  await source.fill('Good morning.');
  await done();
  await kept(page);
  await unplug(context);
  await page.reload();
  await source.fill('The cat sleeps on the warm stones.');
  await done();
  const offline = await target.textContent();
  assert(await page.evaluate(() => crossOriginIsolated), 'kept with its headers');
  await page.getByText(/No network now, and none is needed/).waitFor();
  // The other direction was never loaded, and that is said plainly.
  await page.getByRole('button', { name: 'Swap languages' }).click();
  assert.match((await page.getByRole('alert').textContent()) ?? '', /offline.*not on it yet.*Go online once/);

  server().state.fault = undefined;
  await context.setOffline(false);
  await page.goto(`${server().origin}/#en-pt`);
  await page.reload();
  await source.fill('The cat sleeps on the warm stones.');
  await done();
  assert.equal(await target.textContent(), offline);
  assert.deepEqual(
    problems.filter((text) => !/Failed to load resource|ERR_INTERNET_DISCONNECTED/.test(text)),
    [],
  );
  await close();
});

test('a new version replaces the old one as a whole, once it has loaded completely', async () => {
  const { page, context, source, done, close } = await open();
  let version = 1;
  let broken = false;
  /** The page and one of its modules say which version they are. @type {import('./server.mjs').Fault} */
  const versioned = (_, response, path) => {
    if (broken && path.endsWith('/worker.js')) {
      response.writeHead(500).end();
      return true;
    }
    const [type, text] =
      path === '/'
        ? ['text/html', readFileSync(fileOf('/'), 'utf8').replace('<title>', `<title>v${version} `)]
        : path === '/examples.js'
          ? [
              'text/javascript',
              `${readFileSync(fileOf(path), 'utf8')}\nglobalThis.examplesVersion = ${version};\n`,
            ]
          : ['', ''];
    if (type === '') return false;
    response.writeHead(200, { 'content-type': type }).end(text);
    return true;
  };
  const versions = async () => {
    await page.waitForFunction(() => 'examplesVersion' in globalThis);
    return page.evaluate(() => [
      /^v\d/.exec(document.title)?.[0],
      `v${Reflect.get(globalThis, 'examplesVersion')}`,
    ]);
  };
  server().state.fault = versioned;
  await page.goto(`${server().origin}/`);
  await kept(page);
  assert.deepEqual(await versions(), ['v1', 'v1']);

  // With a network, the newest is shown at once. It can't start here, so the old one stays for visits without.
  version = 2;
  broken = true;
  await page.reload();
  await page.getByRole('alert').waitFor();
  assert.deepEqual(await versions(), ['v2', 'v2']);
  await unplug(context);
  await page.reload();
  assert.deepEqual(await versions(), ['v1', 'v1']);
  await source.fill('Good morning.');
  await done();

  server().state.fault = versioned;
  broken = false;
  await context.setOffline(false);
  await page.reload();
  await kept(page);
  assert.deepEqual(await versions(), ['v2', 'v2']);
  await unplug(context);
  await page.reload();
  assert.deepEqual(await versions(), ['v2', 'v2']);
  await source.fill('Good morning.');
  await done();
  const sets = await page.evaluate(async () =>
    (await caches.keys()).filter((name) => name.includes('-set-')),
  );
  assert.equal(sets.length, 1, 'the old one is gone');
  await close();
});
