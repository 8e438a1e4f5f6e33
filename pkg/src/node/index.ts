// The entry for Node: the same surface over node:worker_threads, with models from the disk or the network.

import { setMaxListeners } from 'node:events';
import { open } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { usePlatform } from '../platform.js';
import type { FromWorker } from '../protocol.js';

usePlatform({
  base: () => pathToFileURL(`${process.cwd()}/`).href,
  models: 'models/',
  spawn(family, events, url) {
    const own = new URL(family === 'translation' ? './worker.js' : `./${family}-worker.js`, import.meta.url);
    // Without the process's flags: --input-type, of a script given by -e, would stop it.
    const worker = new Worker(url ?? own, { execArgv: [] });
    // An idle worker doesn't keep the process; an open call does.
    // By number: an answer may cross the abort of its call.
    const calls = new Set<number>();
    const close = (call: number): void => {
      calls.delete(call);
      if (calls.size === 0) worker.unref();
    };
    worker.unref();
    worker.on('message', (message: FromWorker) => {
      if (message.kind === 'answer' || message.kind === 'error') close(message.call);
      events.message(message);
    });
    worker.on('messageerror', () => {
      events.dead('what it said could not be read');
    });
    worker.on('error', (error: unknown) => {
      events.dead(error instanceof Error ? error.message : String(error));
    });
    return {
      post: (message, transfer) => {
        if (message.kind === 'abort') {
          close(message.call);
        } else {
          calls.add(message.call);
          worker.ref();
        }
        worker.postMessage(message, transfer);
      },
      end: () => {
        void worker.terminate();
      },
    };
  },
  sharing: () => ({ isolated: true, cores: availableParallelism() }),
  fetch: async (url, init) => {
    if (url.protocol !== 'file:') return fetch(url, init);
    try {
      const file = await open(url);
      const facts = await file.stat();
      const headers = { 'content-length': String(facts.size) };
      if (facts.isFile() && init.method !== 'HEAD') {
        // As it is read, so that a long one is not in memory twice. Its end closes the file.
        const body = Readable.toWeb(file.createReadStream());
        return new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>, { headers });
      }
      await file.close();
      return new Response(null, facts.isFile() ? { headers } : { status: 403 });
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : '';
      // A file on the way to it is no folder.
      const missing = code === 'ENOENT' || code === 'ENOTDIR';
      return new Response(null, { status: missing ? 404 : 403 });
    }
  },
  manyListen: (signal) => {
    setMaxListeners(0, signal);
  },
  // Its worker reads no Blobs.
  atOnce: 2 ** 32,
  readable: async (blob) => new Uint8Array(await blob.arrayBuffer()),
});

// There are no GPUs in Node.
export * from '../cpu.js';
