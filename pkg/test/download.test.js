// Everything a server can do wrong, and what the loader makes of it.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { download, patience } from '../dist/download.js';
import { serving } from './server.js';

const FILE = Uint8Array.from({ length: 300_000 }, (_, index) => (index * 7919) >> 3);

const { state, wanted, get, whole, cut, fault } = serving(
  { path: 'model.bin', content: FILE },
  { bytes: FILE.length, sha256: createHash('sha256').update(FILE).digest('hex') },
);

test('a whole file arrives, with and without a length', async () => {
  for (const length of [true, false]) {
    state.answer = (_, response) => {
      response.writeHead(200, length ? { 'content-length': FILE.length } : {});
      response.end(FILE);
    };
    assert.equal((await get()).at(-1), FILE.length);
  }
});

test('404 is model-not-found, at once', async () => {
  state.answer = (_, response) => response.writeHead(404).end('no');
  await assert.rejects(get(), fault('model-not-found', /404/));
  assert.equal(state.count, 1);
});

test('a web page with status 200 is no model', async () => {
  state.answer = (_, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html>');
  await assert.rejects(get(), fault('model-not-found', /web page/));
});

test('a flipped byte is model-corrupt', async () => {
  state.answer = (_, response) => {
    const damaged = FILE.slice();
    damaged[1000] = (damaged[1000] ?? 0) ^ 1;
    response.end(damaged);
  };
  await assert.rejects(get(), fault('model-corrupt', /SHA-256/));
});

test('a file too long is model-corrupt', async () => {
  state.answer = (_, response) => response.end(Buffer.concat([FILE, FILE]));
  await assert.rejects(get(), fault('model-corrupt', /longer/));
});

test('a broken connection is resumed where it broke', async () => {
  state.answer = (request, response, attempt) => {
    if (attempt < 3) cut(request, response, 100_000);
    else whole(request, response, attempt);
  };
  await get();
  assert.deepEqual(state.ranges, [undefined, 'bytes=100000-', 'bytes=200000-']);
});

test('a server that cannot resume is read from the start', async () => {
  state.answer = (request, response, attempt) => {
    if (attempt === 1) cut(request, response, 180_000);
    else response.end(FILE);
  };
  await get();
  assert.deepEqual(state.ranges, [undefined, 'bytes=180000-']);
});

test('cut short every time is download-failed', async () => {
  state.answer = (_, response) => response.end(FILE.subarray(0, 180_000));
  await assert.rejects(get(), fault('download-failed', /180000 of 300000/));
  assert.equal(state.count, patience.tries);
});

test('a busy server is asked again', async () => {
  state.answer = (_, response, attempt) => {
    if (attempt < 3) response.writeHead(503).end();
    else response.end(FILE);
  };
  await get();
  assert.equal(state.count, 3);
});

test('a silent server is given up', async () => {
  patience.silence = 100;
  state.answer = (_, response) => {
    response.writeHead(200, { 'content-length': FILE.length });
    response.write(FILE.subarray(0, 10));
  };
  await assert.rejects(get(), fault('download-failed', /nothing came/));
});

test('an abort stops the fetch and rejects with its reason', async () => {
  const stop = new AbortController();
  const reason = new Error('enough');
  const closed = new Promise((resolve) => {
    state.answer = (request, response) => {
      request.on('close', resolve);
      response.writeHead(200, { 'content-length': FILE.length });
      response.write(FILE.subarray(0, 1000));
    };
  });
  const loading = download(wanted, stop.signal, () => {
    stop.abort(reason);
  });
  await assert.rejects(loading, reason);
  await closed;
  assert.equal(state.count, 1);
});

test('an abort between attempts ends the waiting', async () => {
  const stop = new AbortController();
  const { pause } = patience;
  Object.defineProperty(patience, 'pause', {
    configurable: true,
    // It is looked up when the waiting begins.
    get() {
      queueMicrotask(() => {
        stop.abort();
      });
      return 2 ** 30;
    },
  });
  state.answer = (_, response) => response.writeHead(503).end();
  await assert.rejects(get({}, stop.signal), { name: 'AbortError' });
  assert.equal(state.count, 1);
  Object.defineProperty(patience, 'pause', { value: pause, writable: true });
});
