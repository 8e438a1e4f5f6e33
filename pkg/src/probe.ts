// Whether a file is there and how large it is, without fetching it. Sizes are for the progress only: what a server
// says may be of a compressed transfer.

import { configuration } from './configure.js';
import { platform } from './platform.js';

/** The size of the transfer, undefined in it where the server does not say; undefined if there is no such file. */
export async function probe(
  url: URL,
  signal?: AbortSignal,
): Promise<{ bytes: number | undefined } | undefined> {
  const fetching = configuration().fetch ?? platform().fetch;
  const { ok, headers } = await fetching(url, {
    method: 'HEAD',
    ...(signal === undefined ? {} : { signal }),
  });
  // Sites of one page answer every address with it.
  if (!ok || headers.get('content-type')?.startsWith('text/html') === true) return undefined;
  const length = Number(headers.get('content-length') ?? NaN);
  return { bytes: Number.isSafeInteger(length) && length > 0 ? length : undefined };
}
