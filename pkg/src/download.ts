// One file from the network: checked for being the file, counted, retried and resumed, and hashed before anybody gets it.

import { configuration } from './configure.js';
import { MultiheadError, reasonOf } from './errors.js';
import { platform } from './platform.js';
import { sha256 as hashOf } from './sha256.js';

/** What is asked for: an address, and what the index says of the file. */
export interface Wanted {
  name: string;
  url: URL;
  bytes?: number;
  sha256?: string;
}

/** How patient a download is. Tests shorten it. */
export const patience = {
  /** Attempts before giving up. */
  tries: 4,
  /** First pause in ms; doubled each time. */
  pause: 500,
  /** Longest silence of the server in ms. */
  silence: 30_000,
};

/** Chunks are gathered into Blobs of this size, so that the script's memory does not hold the file. */
const GATHERED = 4 * 1024 * 1024;

/** A failure that another attempt may heal. */
class Passing extends Error {}

/**
 * Fetches the file. `progress` gets the bytes so far (which may go back when an attempt starts over).
 * Rejects with the signal's reason when aborted.
 */
export async function download(
  wanted: Wanted,
  signal: AbortSignal,
  progress: (bytes: number) => void,
): Promise<Blob> {
  const parts = new Parts();
  for (let attempt = 1; ; attempt++) {
    try {
      await receive(wanted, parts, signal, progress);
      break;
    } catch (thrown) {
      signal.throwIfAborted();
      if (!(thrown instanceof Passing)) throw thrown;
      if (attempt >= patience.tries) throw failed(wanted, thrown.message, 'download-failed', thrown.cause);
      await pause(patience.pause * 2 ** (attempt - 1), signal);
    }
  }
  const blob = parts.blob();
  if (wanted.sha256 !== undefined) {
    const got = await hashOf(blob);
    signal.throwIfAborted();
    if (got !== wanted.sha256) {
      const what = `its SHA-256 begins with ${got.slice(0, 12)}, by the index with ${wanted.sha256.slice(0, 12)}; the file on the server is damaged or was replaced`;
      throw failed(wanted, what, 'model-corrupt');
    }
  }
  return blob;
}

/** The bytes received so far; they outlive an attempt that breaks off. */
class Parts {
  length = 0;
  #gathered: Blob[] = [];
  #loose: Uint8Array<ArrayBuffer>[] = [];
  #looseLength = 0;

  add(chunk: Uint8Array<ArrayBuffer>): void {
    this.#loose.push(chunk);
    this.#looseLength += chunk.length;
    this.length += chunk.length;
    if (this.#looseLength >= GATHERED) this.#gather();
  }

  clear(): void {
    this.#gathered = [];
    this.#loose = [];
    this.#looseLength = this.length = 0;
  }

  blob(): Blob {
    this.#gather();
    return new Blob(this.#gathered);
  }

  #gather(): void {
    this.#gathered.push(new Blob(this.#loose));
    this.#loose = [];
    this.#looseLength = 0;
  }
}

async function receive(
  wanted: Wanted,
  parts: Parts,
  signal: AbortSignal,
  progress: (bytes: number) => void,
): Promise<void> {
  const attempt = new AbortController();
  const stop = (): void => {
    attempt.abort(signal.reason);
  };
  signal.addEventListener('abort', stop);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const listen = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      attempt.abort(new Passing(`nothing came for ${patience.silence / 1000} s`));
    }, patience.silence);
  };
  try {
    signal.throwIfAborted();
    listen();
    const body = await respond(wanted, parts, attempt.signal);
    const reader = body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      listen();
      parts.add(value);
      progress(parts.length);
      if (wanted.bytes !== undefined && parts.length > wanted.bytes) {
        await reader.cancel();
        throw failed(wanted, `longer than the ${wanted.bytes} bytes of the index`, 'model-corrupt');
      }
    }
  } catch (thrown) {
    if (attempt.signal.aborted) throw attempt.signal.reason as Error;
    if (thrown instanceof MultiheadError || thrown instanceof Passing) throw thrown;
    // fetch and the stream report every network fault as a TypeError
    throw new Passing(reasonOf(thrown), { cause: thrown });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
  if (wanted.bytes !== undefined && parts.length < wanted.bytes) {
    throw new Passing(`the connection ended after ${parts.length} of ${wanted.bytes} bytes`);
  }
}

/** Sends the request, for the rest only where part of the file is here, and looks at the answer's head. */
async function respond(
  wanted: Wanted,
  parts: Parts,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const headers: Record<string, string> = parts.length > 0 ? { range: `bytes=${parts.length}-` } : {};
  const fetching = configuration().fetch ?? platform().fetch;
  const response = await fetching(wanted.url, { signal, headers });
  const { status, body } = response;
  const resumed =
    status === 206 && response.headers.get('content-range')?.startsWith(`bytes ${parts.length}-`);
  if (resumed !== true) parts.clear();
  if (status === 404 || status === 410) {
    throw failed(wanted, `status ${status}; see configure({ modelBase })`, 'model-not-found');
  }
  if (status === 416) throw new Passing('the server refused to resume');
  if (status >= 500 || status === 429 || status === 408) throw new Passing(`status ${status}`);
  if (!response.ok || body === null) throw failed(wanted, `status ${status}`, 'download-failed');
  if (response.headers.get('content-type')?.startsWith('text/html') === true) {
    throw failed(
      wanted,
      'a web page came instead of the file; see configure({ modelBase })',
      'model-not-found',
    );
  }
  return body;
}

function failed(
  { name, url }: Wanted,
  what: string,
  code: 'model-not-found' | 'model-corrupt' | 'download-failed',
  cause?: unknown,
): MultiheadError {
  return new MultiheadError(`${name} could not be loaded from ${url.href}: ${what}`, {
    code,
    file: name,
    cause,
  });
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const wake = (): void => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', wake);
      resolve();
    }, ms);
    signal.addEventListener('abort', wake, { once: true });
  });
}
