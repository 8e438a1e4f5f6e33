// Serves the page, the package and the models to the tests, and damages answers when told to.

import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** @type {Record<string, string>} */
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
};

/**
 * What a test does to an answer: return true once it has been given.
 * @typedef {(request: import('node:http').IncomingMessage, response: import('node:http').ServerResponse, path: string) => boolean} Fault
 */

/**
 * Starts a server on a free port. `/pkg/` and `/models/` are the repository's folders, `/docs/` has two texts of it, the rest is `www/`;
 * `folders` serves others, by the first part of their path: { '/site/': '…' }. `headers` go out with every answer.
 * `altered` has other texts for the files at these paths.
 * @param {{
 *   isolated?: boolean, folders?: Record<string, string>, headers?: Record<string, string>,
 *   altered?: Record<string, string>
 * }} [options]
 */
export async function startServer({ isolated = true, folders = {}, headers = {}, altered = {} } = {}) {
  /** @type {{ fault: Fault | undefined, requests: string[] }} */
  const state = { fault: undefined, requests: [] };
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? '/', 'http://localhost').pathname);
    state.requests.push(path);
    if (isolated) {
      response.setHeader('cross-origin-opener-policy', 'same-origin');
      response.setHeader('cross-origin-embedder-policy', 'require-corp');
    }
    response.setHeader('cache-control', 'no-store');
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    if (state.fault?.(request, response, path) === true) return;
    const folder = Object.entries(folders).find(([start]) => path.startsWith(start));
    void answer(
      response,
      folder === undefined ? fileOf(path) : join(folder[1], path.slice(folder[0].length)),
      altered[path],
    );
  });
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      resolve(undefined);
    });
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    origin: `http://localhost:${address.port}`,
    state,
    close: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
}

/** @param {string} path Of a URL. */
export function fileOf(path) {
  // As `cargo xtask demo` has it.
  const [, doc] = /^\/docs\/(README\.md|ARCHITECTURE\.md)$/.exec(path) ?? [];
  if (doc !== undefined) return join(ROOT, doc);
  const known = /^\/(pkg|models|tests)\//.test(path);
  const file = normalize(join(ROOT, known ? '.' : 'www', path));
  return path.endsWith('/') ? join(file, 'index.html') : file;
}

/**
 * @param {import('node:http').ServerResponse} response @param {string} place
 * @param {string | undefined} text In the place of what the file has.
 */
async function answer(response, place, text) {
  const file = place.endsWith('/') ? join(place, 'index.html') : place;
  try {
    const { size } = await stat(file);
    response.setHeader('content-type', TYPES[extname(file)] ?? 'application/octet-stream');
    response.setHeader('content-length', text === undefined ? size : Buffer.byteLength(text));
    if (text === undefined) createReadStream(file).pipe(response);
    else response.end(text);
  } catch {
    response.writeHead(404, { 'content-type': 'text/plain' }).end('not found');
  }
}
