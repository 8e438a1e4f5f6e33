// Whether a file is there and how large it is, without fetching it. Sizes are those of the transfer: what a server
// says may be of a compressed one.

import { abortable, either } from './abort.js';
import { configuration } from './configure.js';
import { patience, responseOf } from './download.js';
import { MultiheadError, networkFault } from './errors.js';
import { platform } from './platform.js';
import { versionOf } from './version.js';

/** What a server says of a file that is there; it may not say the size. */
export interface There {
  bytes: number | undefined;
  /** What tells this version of the file from others. */
  version: string | undefined;
}

/**
 * What the server says of the file; undefined if there is no such file. Rejects where it does not say either, or
 * nothing for `patience.silence`.
 */
export async function probe(url: URL, signal?: AbortSignal): Promise<There | undefined> {
  const limit = new AbortController();
  const timer = setTimeout(() => {
    limit.abort(new Error(`nothing came for ${patience.silence / 1000} s`));
  }, patience.silence);
  try {
    return await either(signal, limit.signal, async (both) => {
      const head = await ask(url, 'HEAD', both);
      const { status } = head;
      // A server that knows no HEAD is asked for the file, and its answer let go of.
      return there(status === 405 || status === 501 ? await ask(url, 'GET', both) : head);
    });
  } finally {
    clearTimeout(timer);
  }
}

/** The answer's head. */
async function ask(url: URL, method: 'HEAD' | 'GET', signal: AbortSignal): Promise<Response> {
  const fetching = configuration().fetch ?? platform().fetch;
  let response: Response;
  try {
    const asked: Promise<unknown> = Promise.resolve(fetching(url, { method, signal }));
    response = responseOf(await abortable(asked, signal));
  } catch (cause) {
    signal.throwIfAborted();
    if (cause instanceof MultiheadError) throw cause;
    throw new Error(networkFault(cause), { cause });
  }
  void response.body?.cancel().catch(() => undefined);
  return response;
}

function there(response: Response): There | undefined {
  const { ok, status, headers } = response;
  if (status === 404 || status === 410) return undefined;
  if (!ok) throw new Error(`status ${status}`);
  // Sites of one page answer every address with it.
  if (headers.get('content-type')?.startsWith('text/html') === true) return undefined;
  const length = Number(headers.get('content-length') ?? NaN);
  const bytes = Number.isSafeInteger(length) && length > 0 ? length : undefined;
  return { bytes, version: versionOf(response) };
}
