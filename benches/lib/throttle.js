// A server before the benchmark's own: it sends no faster than a given rate, gzips then, and counts.

import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';

const CHUNK = 16 * 1024;

/**
 * Serves what `origin` has with headers that let browsers keep it. `megabits`: of all connections
 * together a second, gzipped; absent, as fast as it goes and as it is.
 */
export async function startThrottled(origin, megabits) {
  const kept = new Map();
  const state = { bytes: 0, requests: 0 };
  // When the line is free again.
  let free = 0;
  const server = createServer((request, response) => {
    answer(request.url, response).catch((error) => response.destroy(error));
  });

  async function answer(path, response) {
    const { status, headers, body } = await fetched(path);
    state.requests += 1;
    response.writeHead(status, headers);
    for (let at = 0; at < body.length; at += CHUNK) {
      const chunk = body.subarray(at, at + CHUNK);
      if (megabits !== undefined) {
        const now = performance.now();
        free = Math.max(free, now) + (chunk.length * 8) / (megabits * 1000);
        if (free - now > 1) await pause(free - now);
      }
      state.bytes += chunk.length;
      response.write(chunk);
    }
    response.end();
  }

  async function fetched(path) {
    const known = kept.get(path);
    if (known !== undefined) return known;
    const response = await fetch(new URL(path, origin));
    const raw = Buffer.from(await response.arrayBuffer());
    // On a fast line gzip is only work; files that are gzipped already go as they are.
    const gzipped = megabits === undefined ? raw : gzipSync(raw, { level: 9 });
    const pays = gzipped.length < raw.length * 0.97;
    const headers = { 'cache-control': 'max-age=3600' };
    for (const [name, value] of response.headers) {
      if (/^(content-type|cross-origin-.*)$/.test(name)) headers[name] = value;
    }
    if (pays) headers['content-encoding'] = 'gzip';
    const body = pays ? gzipped : raw;
    headers['content-length'] = body.length;
    const answered = { status: response.status, headers, body };
    kept.set(path, answered);
    return answered;
  }

  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://localhost:${server.address().port}`,
    state,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
