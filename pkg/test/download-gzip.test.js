// Gzip files: what a server can do to them, and what the loader makes of it.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { after, before, beforeEach, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { download, patience } from '../dist/download.js';

/** Bytes of a linear congruential generator, the low bits left out, so that they compress to about three quarters. */
const FILE = new Uint8Array(300_000);
for (let index = 0, state = 1; index < FILE.length; index++) {
  state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
  FILE[index] = (state >>> 24) & 0x3f;
}
const GZIP = gzipSync(FILE);
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
    url: new URL(`http://127.0.0.1:${address.port}/model.bin.gz`),
    bytes: FILE.length,
    sha256: HASH,
    gzipBytes: GZIP.length,
  };
  Object.assign(patience, { pause: 5, silence: 20_000 });
});
after(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  count = 0;
  ranges = [];
});

/** @param {Partial<import('../dist/download.js').Wanted>} [other] */
async function get(other = {}, signal = new AbortController().signal) {
  /** @type {number[]} */
  const seen = [];
  const blob = await download({ ...wanted, ...other }, signal, (bytes) => seen.push(bytes));
  assert.deepEqual(new Uint8Array(await blob.arrayBuffer()), FILE);
  return seen;
}

/** @param {string} code @param {RegExp} message */
const fault = (code, message) => (/** @type {Error & { code: string, file: string }} */ error) => {
  assert.equal(error.code, code, error.message);
  assert.equal(error.file, 'model.bin');
  assert.match(error.message, message);
  assert(error.message.includes(wanted.url.href), 'the address is named');
  return true;
};

/** Answers a request, for a range too. @type {typeof answer} */
function whole(request, response) {
  const start = Number(/\d+/.exec(request.headers.range ?? 'bytes=0-')?.[0]);
  response.writeHead(start > 0 ? 206 : 200, {
    'content-length': GZIP.length - start,
    ...(start > 0 ? { 'content-range': `bytes ${start}-${GZIP.length - 1}/${GZIP.length}` } : {}),
  });
  response.end(GZIP.subarray(start));
}

test('the content arrives, the transfer is counted', async () => {
  answer = whole;
  assert.equal((await get()).at(-1), GZIP.length);
});

test('without a length, and where nothing is known of the file', async () => {
  answer = (_, response) => {
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
  answer = (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(GZIP);
  const seen = await get();
  assert(seen.every((bytes) => bytes <= GZIP.length));
  assert.equal(seen.at(-1), GZIP.length);
});

test('a server that compresses the gzip file once more', async () => {
  answer = (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(GZIP));
  assert.equal((await get()).at(-1), GZIP.length);
});

test('a broken connection is resumed where the transfer broke', async () => {
  answer = (request, response, attempt) => {
    if (attempt > 1) {
      whole(request, response, attempt);
      return;
    }
    response.writeHead(200, { 'content-length': GZIP.length });
    response.write(GZIP.subarray(0, 100_000), () => response.destroy());
  };
  await get();
  assert.equal(count, 2);
  assert.match(ranges[1] ?? '', /^bytes=\d+-$/);
  assert(Number(/\d+/.exec(ranges[1] ?? '')?.[0]) <= 100_000);
});

test('what was decoded on the way is not resumed: the ranges would not be those of the file', async () => {
  answer = (request, response, attempt) => {
    if (attempt > 1) {
      whole(request, response, attempt);
      return;
    }
    response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': GZIP.length });
    response.write(GZIP.subarray(0, 150_000), () => response.destroy());
  };
  await get();
  assert.deepEqual(ranges, [undefined, undefined]);
});

test('a server that cannot resume is read from the start', async () => {
  answer = (_, response, attempt) => {
    if (attempt > 1) {
      response.end(GZIP);
      return;
    }
    response.writeHead(200, { 'content-length': GZIP.length });
    response.write(GZIP.subarray(0, 100_000), () => response.destroy());
  };
  await get();
});

test('a file replaced between two attempts is fetched anew', async () => {
  const other = gzipSync(FILE.toReversed());
  answer = (request, response, attempt) => {
    if (attempt > 1) {
      whole(request, response, attempt);
      return;
    }
    response.writeHead(200, { 'content-length': GZIP.length });
    response.write(other.subarray(0, 100_000), () => response.destroy());
  };
  await get();
  assert.equal(ranges.at(-1), undefined);
});

test('cut short every time is download-failed', async () => {
  answer = (_, response) => response.end(GZIP.subarray(0, GZIP.length * 0.6));
  await assert.rejects(get(), fault('download-failed', new RegExp(`of ${GZIP.length} bytes`)));
  assert.equal(count, patience.tries);
  await assert.rejects(
    download({ name: 'model.bin', url: wanted.url }, new AbortController().signal, () => undefined),
    fault('download-failed', /before the file's end/),
  );
});

test('a flipped byte is model-corrupt, wherever it is', async () => {
  for (const place of [5000, GZIP.length - 6]) {
    answer = (_, response) => {
      const damaged = Buffer.from(GZIP);
      damaged[place] = (damaged[place] ?? 0) ^ 1;
      response.end(damaged);
    };
    await assert.rejects(get(), fault('model-corrupt', /damaged|SHA-256/));
  }
});

test('another file of the same form is model-corrupt', async () => {
  answer = (_, response) => response.end(gzipSync(FILE.map((byte) => byte ^ 1)));
  await assert.rejects(get({ gzipBytes: 1000 }), fault('model-corrupt', /SHA-256/));
});

test('more content than the index says ends the transfer', async () => {
  answer = (_, response) => response.end(gzipSync(new Uint8Array(50_000_000)));
  await assert.rejects(get({ gzipBytes: 1000 }), fault('model-corrupt', /longer than the 300000 bytes/));
});

test('a web page with status 200 is no model, whatever its type', async () => {
  for (const type of ['text/html', 'application/octet-stream']) {
    answer = (_, response) =>
      response.writeHead(200, { 'content-type': type }).end('<!doctype html><p>Sorry');
    await assert.rejects(get(), fault('model-not-found', /web page/));
  }
  assert.equal(count, 2);
});

test('404 is model-not-found, at once', async () => {
  answer = (_, response) => response.writeHead(404).end('no');
  await assert.rejects(get(), fault('model-not-found', /404/));
  assert.equal(count, 1);
});

test('a silent server is given up', async () => {
  patience.silence = 200;
  answer = (_, response) => {
    response.writeHead(200, { 'content-length': GZIP.length });
    response.write(GZIP.subarray(0, 1000));
  };
  await assert.rejects(get(), fault('download-failed', /nothing came/));
  patience.silence = 20_000;
});

test('an abort stops the transfer', async () => {
  const stop = new AbortController();
  const reason = new Error('enough');
  const closed = new Promise((resolve) => {
    answer = (request, response) => {
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
