// A server for the tests of downloads: it does to a file whatever a test wants, and counts what it is asked for.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, beforeEach } from 'node:test';
import { download, patience } from '../dist/download.js';

/**
 * What is answered; `attempt` counts a test's requests from 1.
 * @typedef {(
 *   request: import('node:http').IncomingMessage, response: import('node:http').ServerResponse, attempt: number
 * ) => void} Answer
 */

/** Longest wait for anything, in milliseconds; it only ends what would never end. */
const LIMIT = 600_000;

/**
 * Serves `content`, of whose transfer `file` is (a gzip file of it, or the same), to the tests of a file.
 * @param {{ path: string, content: Uint8Array, file?: Uint8Array }} served
 * @param {Partial<import('../dist/download.js').Wanted>} described What an index says of it.
 */
export function serving({ path, content, file = content }, described) {
  /** @type {{ answer: Answer, count: number, ranges: (string | undefined)[] }} */
  const state = { answer: () => {}, count: 0, ranges: [] };
  const server = createServer((request, response) => {
    state.ranges.push(request.headers.range);
    state.answer(request, response, ++state.count);
  });
  /** @type {import('../dist/download.js').Wanted} */
  const wanted = { name: 'model.bin', url: new URL('http://localhost/'), ...described };
  /** Bytes of the transfer that the download under way has counted. */
  let counted = 0;

  before(async () => {
    await new Promise((resolve) => {
      server.listen(0, '127.0.0.1', () => {
        resolve(undefined);
      });
    });
    const address = server.address();
    assert(typeof address === 'object' && address !== null);
    wanted.url = new URL(`http://127.0.0.1:${address.port}/${path}`);
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    Object.assign(patience, { pause: 5, silence: LIMIT });
    state.count = 0;
    state.ranges = [];
  });

  return {
    state,
    wanted,

    /** Downloads the file; the bytes that the progress has told. @param {object} [other] Facts in the place of those described. */
    get: async (other = {}, signal = new AbortController().signal) => {
      /** @type {number[]} */
      const seen = [];
      counted = 0;
      const blob = await download({ ...wanted, ...other }, signal, (bytes) => {
        counted = bytes;
        seen.push(bytes);
      });
      assert.deepEqual(new Uint8Array(await blob.arrayBuffer()), content);
      return seen;
    },

    /** Gives all of it, or the rest that is asked for. @type {Answer} */
    whole: (request, response) => {
      const start = startOf(request);
      response.writeHead(start > 0 ? 206 : 200, headers(start));
      response.end(file.subarray(start));
    },

    /**
     * Breaks the connection `length` bytes on, once they have been taken: what is under way when it breaks may be lost.
     * @param {import('node:http').IncomingMessage} request @param {import('node:http').ServerResponse} response
     * @param {number} length
     */
    cut: (request, response, length, of = file, others = {}) => {
      const start = startOf(request);
      response.writeHead(start > 0 ? 206 : 200, { ...headers(start), ...others });
      response.write(of.subarray(start, start + length));
      const untouched = counted;
      const breaking = setInterval(() => {
        // Through a decompressor of the client's own they are counted otherwise.
        if (counted < start + length && (!('content-encoding' in others) || counted === untouched)) return;
        response.destroy();
      }, 5);
      response.on('close', () => {
        clearInterval(breaking);
      });
    },

    /** The download's error. @param {string} code @param {RegExp} message */
    fault: (code, message) => (/** @type {Error & { code: string, file: string }} */ error) => {
      assert.equal(error.code, code, error.message);
      assert.equal(error.file, 'model.bin');
      assert.match(error.message, message);
      assert(error.message.includes(wanted.url.href), 'the address is named');
      return true;
    },
  };

  /** @param {number} start */
  function headers(start) {
    return {
      'content-length': file.length - start,
      ...(start > 0 ? { 'content-range': `bytes ${start}-${file.length - 1}/${file.length}` } : {}),
    };
  }
}

/** Where the part begins that is asked for. @param {import('node:http').IncomingMessage} request */
function startOf(request) {
  return Number(/\d+/.exec(request.headers.range ?? 'bytes=0-')?.[0]);
}
