// Everything a server can do wrong, and what the loader makes of it.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { after, before, beforeEach, test } from 'node:test';
import { download, patience } from '../dist/download.js';

const FILE = Uint8Array.from({ length: 300_000 }, (_, index) => (index * 7919) >> 3);
const HASH = createHash('sha256').update(FILE).digest('hex');

/** @type {(request: import('node:http').IncomingMessage, response: import('node:http').ServerResponse, count: number) => void} */
let answer;
let count = 0;
/** @type {(string | undefined)[]} */
let ranges = [];
const server = createServer((request, response) => {
  ranges.push(request.headers.range);
  answer(request, response, ++count);
});
/** @type {import('../dist/download.js').Wanted} */
let wanted;

before(async () => {
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      resolve(undefined);
    });
  });
  const address = server.address();
  assert(typeof address === 'object' && address !== null);
  wanted = {
    name: 'model.bin',
    url: new URL(`http://127.0.0.1:${address.port}/model.bin`),
    bytes: FILE.length,
    sha256: HASH,
  };
  Object.assign(patience, { pause: 5, silence: 400 });
});
after(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  count = 0;
  ranges = [];
});

const nothing = () => undefined;
/** @param {AbortSignal} [signal] @param {(bytes: number) => void} [progress] */
const get = (signal = new AbortController().signal, progress = nothing) => download(wanted, signal, progress);

/** @param {import('node:http').ServerResponse} response */
function whole(response) {
  response.writeHead(200, { 'content-length': FILE.length }).end(FILE);
}

/** @param {string} code @param {RegExp} message */
const fault = (code, message) => (/** @type {Error & { code: string, file: string }} */ error) => {
  assert.equal(error.code, code);
  assert.equal(error.file, 'model.bin');
  assert.match(error.message, message);
  assert(error.message.includes(wanted.url.href), 'the address is named');
  return true;
};

test('a whole file arrives, with and without a length', async () => {
  for (const length of [true, false]) {
    answer = (_, response) => {
      response.writeHead(200, length ? { 'content-length': FILE.length } : {});
      response.end(FILE);
    };
    /** @type {number[]} */
    const seen = [];
    const blob = await get(undefined, (bytes) => seen.push(bytes));
    assert.deepEqual(new Uint8Array(await blob.arrayBuffer()), FILE);
    assert.equal(seen.at(-1), FILE.length);
  }
});

test('404 is model-not-found, at once', async () => {
  answer = (_, response) => response.writeHead(404).end('no');
  await assert.rejects(get(), fault('model-not-found', /404/));
  assert.equal(count, 1);
});

test('a web page with status 200 is no model', async () => {
  answer = (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html>');
  await assert.rejects(get(), fault('model-not-found', /web page/));
});

test('a flipped byte is model-corrupt', async () => {
  answer = (_, response) => {
    const damaged = FILE.slice();
    damaged[1000] = (damaged[1000] ?? 0) ^ 1;
    response.end(damaged);
  };
  await assert.rejects(get(), fault('model-corrupt', /SHA-256/));
});

test('a file too long is model-corrupt', async () => {
  answer = (_, response) => response.end(Buffer.concat([FILE, FILE]));
  await assert.rejects(get(), fault('model-corrupt', /longer/));
});

test('a broken connection is resumed where it broke', async () => {
  answer = (request, response, attempt) => {
    const start = Number(/\d+/.exec(request.headers.range ?? 'bytes=0-')?.[0]);
    const end = attempt < 3 ? start + 100_000 : FILE.length;
    response.writeHead(start > 0 ? 206 : 200, {
      'content-length': FILE.length - start,
      ...(start > 0 ? { 'content-range': `bytes ${start}-${FILE.length - 1}/${FILE.length}` } : {}),
    });
    response.write(FILE.subarray(start, end), () => {
      if (attempt < 3) response.destroy();
      else response.end();
    });
  };
  const blob = await get();
  assert.deepEqual(new Uint8Array(await blob.arrayBuffer()), FILE);
  assert.equal(count, 3);
  assert.equal(ranges[0], undefined);
  assert.match(ranges[1] ?? '', /^bytes=\d+-$/);
});

test('a server that cannot resume is read from the start', async () => {
  answer = (_, response, attempt) => {
    if (attempt > 1) {
      whole(response);
      return;
    }
    response.writeHead(200, { 'content-length': FILE.length });
    response.write(FILE.subarray(0, 180_000), () => response.destroy());
  };
  const blob = await get();
  assert.deepEqual(new Uint8Array(await blob.arrayBuffer()), FILE);
  assert.equal(count, 2);
});

test('cut short every time is download-failed', async () => {
  answer = (_, response) => response.end(FILE.subarray(0, 180_000));
  await assert.rejects(get(), fault('download-failed', /180000 of 300000/));
  assert.equal(count, patience.tries);
});

test('a busy server is asked again', async () => {
  answer = (_, response, attempt) => {
    if (attempt < 3) response.writeHead(503).end();
    else whole(response);
  };
  assert.equal((await get()).size, FILE.length);
});

test('a silent server is given up', async () => {
  answer = (_, response) => {
    response.writeHead(200, { 'content-length': FILE.length });
    response.write(FILE.subarray(0, 10));
  };
  await assert.rejects(get(), fault('download-failed', /nothing came/));
});

test('an abort stops the fetch and rejects with its reason', async () => {
  const stop = new AbortController();
  const reason = new Error('enough');
  const closed = new Promise((resolve) => {
    answer = (request, response) => {
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
  assert.equal(count, 1);
});

test('an abort between attempts ends the waiting', async () => {
  patience.pause = 60_000;
  const stop = new AbortController();
  answer = (_, response) => {
    response.writeHead(503).end();
    setTimeout(() => {
      stop.abort();
    }, 30);
  };
  await assert.rejects(get(stop.signal), { name: 'AbortError' });
  patience.pause = 5;
});
