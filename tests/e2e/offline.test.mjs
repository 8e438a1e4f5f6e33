// The demo page without a network: after the first visit it opens and translates, and never mixes two versions.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { until } from './chromium.mjs';
import { demo, patient } from './demo.mjs';
import { fileOf } from './server.mjs';

const { open, server } = demo();

/** No network at all: the browser is cut off, and the server would answer nothing anyway. */
function unplug(/** @type {import('playwright-core').BrowserContext} */ context) {
  server().state.fault = (_, response) => {
    response.destroy();
    return true;
  };
  return context.setOffline(true);
}

test('after one visit the page opens and translates without a network', async () => {
  const { page, context, source, target, done, kept, close, problems } = await open();
  await page.goto(`${server().origin}/`);
  await source.fill('Good morning.');
  await done();
  await kept();
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
  const { page, context, source, done, kept, close } = await open();
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
  await kept();
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
  await kept();
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

test('a page that was opened before a new version keeps to its own files, its next worker too', async () => {
  const { page, source, done, kept, close, tab } = await open();
  let version = 1;
  /** Waits until a worker of that version has run since then. */
  const ran = (/** @type {number} */ which, since = 0) =>
    until(
      () => server().state.requests.slice(since).includes(`/worker-${which}-ran`),
      `a worker of version ${which}`,
    );
  /** The package's worker says which version it is. */
  server().state.fault = (_, response, path) => {
    if (!path.endsWith('/dist/worker.js')) return false;
    const script = `${readFileSync(fileOf(path), 'utf8')}\nvoid fetch('/worker-${version}-ran');\n`;
    response.writeHead(200, { 'content-type': 'text/javascript' }).end(script);
    return true;
  };
  await page.goto(`${server().origin}/`);
  await kept();
  version = 2;
  const second = await tab();
  await second.page.goto(`${server().origin}/`);
  await second.source.fill('Good morning.');
  await second.done();
  await second.kept();
  await ran(1);
  await ran(2);
  await second.page.close();

  // The worker ends with its last model; the next translation starts another, as after a fault of the first.
  version = 3;
  await page.evaluate(async () => {
    const { unload } = await import(new URL('/pkg/dist/index.js', location.href).href);
    await unload();
  });
  const start = server().state.requests.length;
  await source.fill('Good morning.');
  await done();
  assert.deepEqual(
    server()
      .state.requests.slice(start)
      .filter((path) => path.startsWith('/pkg/')),
    [],
  );
  await ran(1, start);
  assert(!server().state.requests.includes('/worker-3-ran'));
  // A new visit gets the new version.
  const visit = server().state.requests.length;
  await page.reload();
  await source.fill('Good morning.');
  await done();
  await ran(3, visit);
  await close();
});

test('a server that takes requests and never answers is no network', async () => {
  const { page, source, done, kept, close } = await open();
  /** With the service worker that visitors get, which waits for seconds. @type {import('./server.mjs').Fault} */
  const original = (_, response, path) => {
    if (path !== '/sw.js') return false;
    response.writeHead(200, { 'content-type': 'text/javascript' }).end(readFileSync(fileOf(path)));
    return true;
  };
  server().state.fault = original;
  await page.goto(`${server().origin}/`);
  await kept();
  let asked = 0;
  for (const silent of [/^\/models\/index\.json$/, /^/]) {
    server().state.fault = (request, response, path) => {
      if (!silent.test(path)) return original(request, response, path);
      asked++;
      return true;
    };
    await page.reload();
    await source.fill('The cat sleeps on the warm stones.');
    await done();
    await kept();
    assert(asked > 0, `nothing like ${silent} was asked for`);
    asked = 0;
  }
  await close();
});

test('a device without room, and storage that is blocked: the page works as without keeping', async () => {
  const { page, context, source, done, kept, close } = await open();
  const line = page.locator('#offline');
  const notKept = () => page.getByText(/The page is not kept on this device \(/).waitFor();
  await page.goto(`${server().origin}/`);
  await kept();
  const devtools = await context.newCDPSession(page);
  await devtools.send('Storage.overrideQuotaForOrigin', { origin: server().origin, quotaSize: 1 });
  for (let visit = 0; visit < 2; visit++) {
    await page.reload();
    await source.fill('Good morning.');
    await done();
    await notKept();
    assert.match((await line.textContent()) ?? '', /quota/i);
  }
  // What was kept before there was no room is still whole.
  await unplug(context);
  await page.reload();
  await source.fill('Thank you.');
  await done();
  await close();

  const other = await open();
  server().state.fault = (_, response, path) => {
    if (path !== '/sw.js') return false;
    const blocked = `CacheStorage.prototype.open = () => Promise.reject(new DOMException('blocked', 'SecurityError'));\n`;
    response.writeHead(200, { 'content-type': 'text/javascript' }).end(blocked + patient(path));
    return true;
  };
  for (let visit = 0; visit < 2; visit++) {
    await other.page.goto(`${server().origin}/`);
    await other.source.fill('Good morning.');
    await other.done();
    await other.page.getByText(/The page is not kept on this device \(SecurityError: blocked\)/).waitFor();
  }
  await other.close();
});
