// One file from the network: checked for being the file, counted, retried and resumed, decompressed as it comes,
// and hashed before anybody gets it.

import { abortable, listening } from './abort.js';
import { configuration } from './configure.js';
import { Content, Damaged, isGguf, sizeOf, WebPage, type FileData } from './content.js';
import { invalid, MultiheadError, networkFault, shown } from './errors.js';
import type { Shelf } from './parts.js';
import { platform } from './platform.js';
import { sha256 as hashOf } from './sha256.js';
import { versionOf } from './version.js';

/** What is asked for: an address, and what the index says of the file. Size and hash are of the content, decompressed. */
export interface Wanted {
  name: string;
  url: URL;
  bytes?: number;
  sha256?: string;
  /** Size of the gzip file at the address, where it is one. */
  gzipBytes?: number;
  /** Size of the transfer as the server has told it. */
  transferBytes?: number;
  /** Where the parts of a long file go as they come. */
  shelf?: Shelf;
  /** Where to say otherwise what the address is; by default that is configure(). */
  advice?: string;
  /** What a server means that answers with 401 or 403. */
  denied?: string;
  /** Gets what the server says of the file's version, each time that it begins to send it. */
  answered?: (version: string | undefined) => void;
  /** Attempts before giving up; by default `patience.tries`. */
  tries?: number;
  /** How the browser's HTTP cache is used; by default by whether the content can be checked. */
  cache?: RequestCache;
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

/** A failure that another attempt may heal. */
class Passing extends Error {}

/** As {@link fetchFile}, as a Blob. */
export async function download(
  wanted: Wanted,
  signal: AbortSignal,
  progress: (bytes: number) => void,
): Promise<Blob> {
  const data = await fetchFile(wanted, signal, progress);
  return data instanceof Blob ? data : new Blob([data]);
}

/**
 * Fetches the file; a gzip file gives its content. `progress` gets the bytes of the transfer so far (which may go
 * back when an attempt starts over). Rejects with the signal's reason when aborted.
 */
export async function fetchFile(
  wanted: Wanted,
  signal: AbortSignal,
  progress: (bytes: number) => void,
): Promise<FileData> {
  const { name, bytes, gzipBytes, transferBytes: about, sha256, shelf } = wanted;
  const content = new Content({
    bytes,
    about,
    atOnce: platform().atOnce,
    shelf,
    isGguf: isGguf(name),
    hashed: sha256 !== undefined,
  });
  try {
    if (gzipBytes === undefined) await content.restore();
    for (let attempt = 1; ; attempt++) {
      try {
        // All may be here of a download that broke off just before its end.
        if (!(content.resumed && content.received === bytes && gzipBytes === undefined))
          await receive(wanted, content, signal, progress);
        return await checked(wanted, content, signal);
      } catch (thrown) {
        signal.throwIfAborted();
        const error = named(wanted, thrown, content);
        if (!(error instanceof Passing)) throw error;
        if (attempt >= (wanted.tries ?? patience.tries))
          throw failed(wanted, error.message, 'download-failed', error.cause);
        await pause(patience.pause * 2 ** (attempt - 1), signal);
      }
    }
  } catch (thrown) {
    // What broke off may go on another time; what is wrong may not.
    const isWrong = thrown instanceof MultiheadError && thrown.code !== 'download-failed';
    if (isWrong && shelf !== undefined && shelf.count > 0) await (await import('./parts.js')).clear(shelf);
    content.clear();
    throw thrown;
  }
}

/** The error that a caller sees, or what another attempt may heal. */
function named(wanted: Wanted, thrown: unknown, content: Content): Error {
  if (thrown instanceof MultiheadError || thrown instanceof Passing) return thrown;
  if (thrown instanceof Damaged) {
    if (!content.resumed) return failed(wanted, thrown.message, 'model-corrupt', thrown.cause);
    // The file may have been replaced in between.
    content.clear();
    return new Passing(`${thrown.message}, of parts that came one after the other`, { cause: thrown.cause });
  }
  if (thrown instanceof WebPage) {
    return failed(wanted, `a web page came instead of the file; ${advice(wanted)}`, 'model-not-found');
  }
  return new Passing(networkFault(thrown), { cause: thrown });
}

/** Takes one answer of the server. */
async function receive(
  wanted: Wanted,
  content: Content,
  signal: AbortSignal,
  progress: (bytes: number) => void,
): Promise<void> {
  const attempt = new AbortController();
  const unlisten = listening(signal, () => {
    attempt.abort(signal.reason);
  });
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
    const body = await respond(wanted, content, attempt.signal);
    const reader = body.getReader();
    try {
      for (;;) {
        const { done, value } = await abortable(reader.read(), attempt.signal);
        if (done) return;
        listen();
        await content.add(value);
        progress(transferred(wanted, content));
      }
    } catch (thrown) {
      // What is wrong with the content ends the transfer; one that broke has ended.
      void reader.cancel().catch(() => undefined);
      throw thrown;
    }
  } catch (thrown) {
    if (attempt.signal.aborted) throw attempt.signal.reason as Error;
    throw thrown;
  } finally {
    clearTimeout(timer);
    unlisten();
  }
}

/** Whether the server undid the compression itself: then what comes is counted otherwise than the file. */
function undone({ gzipBytes }: Wanted, { gzip }: Content): boolean {
  return gzipBytes !== undefined && gzip === false;
}

/** Bytes so far of the file at the address. */
function transferred(wanted: Wanted, content: Content): number {
  const { bytes, gzipBytes } = wanted;
  if (gzipBytes === undefined || bytes === undefined || !undone(wanted, content)) return content.received;
  return (content.received / bytes) * gzipBytes;
}

/** The whole content, if it is what the index says. */
async function checked(wanted: Wanted, content: Content, signal: AbortSignal): Promise<FileData> {
  const { bytes, gzipBytes, sha256 } = wanted;
  await content.look();
  const { gzip, received } = content;
  const whole = gzip === true ? gzipBytes : bytes;
  if (whole !== undefined && received < whole) {
    throw new Passing(`the connection ended after ${received} of ${whole} bytes`);
  }
  let data: FileData;
  try {
    data = await content.finish();
  } catch (thrown) {
    if (whole !== undefined || !(thrown instanceof Damaged)) throw thrown;
    content.clear();
    throw new Passing(`the connection ended after ${received} bytes, before the file's end`, {
      cause: thrown,
    });
  }
  if (bytes !== undefined && sizeOf(data) !== bytes) {
    throw new Damaged(`its content has ${sizeOf(data)} bytes, by the index ${bytes}; ${REPLACED}`);
  }
  if (sha256 === undefined) return data;
  const got = content.hash() ?? (await hashOf(data));
  signal.throwIfAborted();
  if (got === sha256) return data;
  throw new Damaged(
    `its SHA-256 begins with ${got.slice(0, 12)}, by the index with ${sha256.slice(0, 12)}; ${REPLACED}`,
  );
}

const REPLACED = 'the file on the server is damaged or was replaced';

/** Sends the request, for the rest only where part of the file is here, and looks at the answer's head. */
async function respond(
  wanted: Wanted,
  content: Content,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const isBlind = wanted.sha256 === undefined && content.version === undefined;
  // Parts of two versions of a file that nobody can check would make a third.
  if (undone(wanted, content) || isBlind) content.clear();
  const { received } = content;
  const headers: Record<string, string> = received > 0 ? { range: `bytes=${received}-` } : {};
  const fetching = configuration().fetch ?? platform().fetch;
  const asked: Promise<unknown> = Promise.resolve(
    fetching(wanted.url, { signal, headers, cache: wanted.cache ?? httpCache(wanted) }),
  );
  // A fetch of the page's own may not listen to the signal.
  const response = responseOf(await abortable(asked, signal));
  const { status, body } = response;
  const range = response.headers.get('content-range');
  const version = versionOf(response);
  const isRest = received > 0 && status === 206 && range?.startsWith(`bytes ${received}-`) === true;
  const isOther = isRest && wanted.sha256 === undefined && version !== content.version;
  if (isRest && !isOther) {
    content.resumed = true;
  } else {
    content.clear();
    content.version = version;
  }
  const refusal = isOther ? new Passing('the file was replaced meanwhile') : refused(wanted, response);
  if (refusal === undefined) wanted.answered?.(version);
  if (refusal === undefined && body !== null) return body;
  // Left open, it would hold its connection.
  void body?.cancel().catch(() => undefined);
  throw refusal ?? failed(wanted, `status ${status} without a body`, 'download-failed');
}

/** What fetch has given; one of the page's own may give anything, and Responses of a class of its own. */
export function responseOf(answer: unknown): Response {
  const given = answer as Partial<Response> | null | undefined;
  const isBody = given?.body === null || typeof given?.body?.getReader === 'function';
  if (typeof given?.status === 'number' && typeof given.headers?.get === 'function' && isBody) {
    return given as Response;
  }
  throw invalid('fetch', `the function of configure() has to give a Response, got ${shown(answer)}`);
}

/** Why the answer is not the file; undefined where it may be. */
function refused(wanted: Wanted, { ok, status, headers }: Response): Error | undefined {
  if (status === 404 || status === 410) {
    return failed(wanted, `status ${status}; ${advice(wanted)}`, 'model-not-found');
  }
  if (status === 416) return new Passing('the server refused to resume');
  if (status >= 500 || status === 429 || status === 408) return new Passing(`status ${status}`);
  if ((status === 401 || status === 403) && wanted.denied !== undefined) {
    return failed(wanted, `status ${status}: ${wanted.denied}`, 'model-not-found');
  }
  if (!ok) return failed(wanted, `status ${status}`, 'download-failed');
  return headers.get('content-type')?.startsWith('text/html') === true ? new WebPage() : undefined;
}

/**
 * A file that is kept has a place of its own. In the browser's HTTP cache it would lie a second time, and after
 * the site has replaced it an old one would come that the index doesn't know.
 */
function httpCache({ sha256, answered }: Wanted): RequestCache {
  if (sha256 === undefined && answered === undefined) return 'default';
  return typeof caches === 'undefined' ? 'no-cache' : 'no-store';
}

function advice(wanted: Wanted): string {
  return wanted.advice ?? 'see configure({ modelBase })';
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
    const unlisten = listening(signal, () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    });
    const timer = setTimeout(() => {
      unlisten();
      resolve();
    }, ms);
  });
}
