// How many threads a model is loaded for, seen from the page.

import { platform } from './platform.js';
import { threadsWanted } from './variant.js';

let told = false;

/** Threads for the option `threads`; 1, and one notice a page, where memory cannot be shared between workers. */
export function threadsFor(wanted: number | 'auto'): number {
  const { isolated, cores } = platform().sharing();
  const threads = threadsWanted(wanted, cores);
  if (isolated || threads === 1) return threads;
  if (!told) {
    told = true;
    const notice =
      'multihead: this page is not cross-origin isolated, so one thread does all the work. For more, serve it ' +
      "with the headers 'Cross-Origin-Opener-Policy: same-origin' and 'Cross-Origin-Embedder-Policy: require-corp'.";
    // oxlint-disable no-console
    if (wanted === 'auto') console.info(notice);
    else console.warn(notice);
    // oxlint-enable no-console
  }
  return 1;
}
