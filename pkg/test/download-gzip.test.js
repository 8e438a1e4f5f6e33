// Gzip files: what a server can do to them, and what the loader makes of it.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { download, patience } from '../dist/download.js';
import { serving } from './server.js';

/** Bytes of a linear congruential generator, the low bits left out, so that they compress to about three quarters. */
const FILE = new Uint8Array(300_000);
for (let index = 0, random = 1; index < FILE.length; index++) {
  random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0;
  FILE[index] = (random >>> 24) & 0x3f;
}
const GZIP = gzipSync(FILE);

const { state, wanted, get, whole, cut, fault } = serving(
  { path: 'model.bin.gz', content: FILE, file: GZIP },
  {
    bytes: FILE.length,
    sha256: createHash('sha256').update(FILE).digest('hex'),
    gzipBytes: GZIP.length,
  },
);

test('the content arrives, the transfer is counted', async () => {
  state.answer = whole;
  assert.equal((await get()).at(-1), GZIP.length);
});

test('without a length, and where nothing is known of the file', async () => {
  state.answer = (_, response) => {
    response.write(GZIP.subarray(0, 5));
    response.end(GZIP.subarray(5));
  };
  assert.equal((await get()).at(-1), GZIP.length);
  const blob = await download(
    { name: 'model.bin', url: wanted.url },
    new AbortController().signal,
    () => undefined,
  );
  assert.equal(blob.size, FILE.length);
});

test('a server that says Content-Encoding is read as well: the progress still ends at the total', async () => {
  state.answer = (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(GZIP);
  const seen = await get();
  assert(seen.every((bytes) => bytes <= GZIP.length));
  assert.equal(seen.at(-1), GZIP.length);
});

test('a server that compresses the gzip file once more', async () => {
  state.answer = (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(GZIP));
  assert.equal((await get()).at(-1), GZIP.length);
});

test('a broken connection is resumed where the transfer broke', async () => {
  state.answer = (request, response, attempt) => {
    if (attempt === 1) cut(request, response, 100_000);
    else whole(request, response, attempt);
  };
  await get();
  assert.deepEqual(state.ranges, [undefined, 'bytes=100000-']);
});

test('what was decoded on the way is not resumed: the ranges would not be those of the file', async () => {
  state.answer = (request, response, attempt) => {
    if (attempt === 1) cut(request, response, 150_000, GZIP, { 'content-encoding': 'gzip' });
    else whole(request, response, attempt);
  };
  await get();
  assert.deepEqual(state.ranges, [undefined, undefined]);
});

test('a server that cannot resume is read from the start', async () => {
  state.answer = (request, response, attempt) => {
    if (attempt === 1) cut(request, response, 100_000);
    else response.end(GZIP);
  };
  await get();
  assert.deepEqual(state.ranges, [undefined, 'bytes=100000-']);
});

test('a file replaced between two attempts is fetched anew', async () => {
  const other = gzipSync(FILE.toReversed());
  state.answer = (request, response, attempt) => {
    if (attempt === 1) cut(request, response, 100_000, other);
    else whole(request, response, attempt);
  };
  await get();
  assert.deepEqual(state.ranges, [undefined, 'bytes=100000-', undefined]);
});

test('cut short every time is download-failed', async () => {
  state.answer = (_, response) => response.end(GZIP.subarray(0, GZIP.length * 0.6));
  await assert.rejects(get(), fault('download-failed', new RegExp(`of ${GZIP.length} bytes`)));
  assert.equal(state.count, patience.tries);
  await assert.rejects(
    download({ name: 'model.bin', url: wanted.url }, new AbortController().signal, () => undefined),
    fault('download-failed', /before the file's end/),
  );
});

test('a flipped byte is model-corrupt, wherever it is', async () => {
  for (const place of [5000, GZIP.length - 6]) {
    state.answer = (_, response) => {
      const damaged = Buffer.from(GZIP);
      damaged[place] = (damaged[place] ?? 0) ^ 1;
      response.end(damaged);
    };
    await assert.rejects(get(), fault('model-corrupt', /damaged|SHA-256/));
  }
});

test('another file of the same form is model-corrupt', async () => {
  state.answer = (_, response) => response.end(gzipSync(FILE.map((byte) => byte ^ 1)));
  await assert.rejects(get({ gzipBytes: 1000 }), fault('model-corrupt', /SHA-256/));
});

test('more content than the index says ends the transfer', async () => {
  state.answer = (_, response) => response.end(gzipSync(new Uint8Array(50_000_000)));
  await assert.rejects(get({ gzipBytes: 1000 }), fault('model-corrupt', /longer than the 300000 bytes/));
});

test('a web page with status 200 is no model, whatever its type', async () => {
  for (const type of ['text/html', 'application/octet-stream']) {
    state.answer = (_, response) =>
      response.writeHead(200, { 'content-type': type }).end('<!doctype html><p>Sorry');
    await assert.rejects(get(), fault('model-not-found', /web page/));
  }
  assert.equal(state.count, 2);
});

test('404 is model-not-found, at once', async () => {
  state.answer = (_, response) => response.writeHead(404).end('no');
  await assert.rejects(get(), fault('model-not-found', /404/));
  assert.equal(state.count, 1);
});

test('a silent server is given up', async () => {
  patience.silence = 100;
  state.answer = (_, response) => {
    response.writeHead(200, { 'content-length': GZIP.length });
    response.write(GZIP.subarray(0, 1000));
  };
  await assert.rejects(get(), fault('download-failed', /nothing came/));
});

test('an abort stops the transfer', async () => {
  const stop = new AbortController();
  const reason = new Error('enough');
  const closed = new Promise((resolve) => {
    state.answer = (request, response) => {
      request.on('close', resolve);
      response.writeHead(200, { 'content-length': GZIP.length });
      response.write(GZIP.subarray(0, 1000));
    };
  });
  await assert.rejects(
    download(wanted, stop.signal, () => {
      stop.abort(reason);
    }),
    reason,
  );
  await closed;
});
