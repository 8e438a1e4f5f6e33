// A contender's model in a browser of its own: what CPU time it takes is told from that of the others.

import { openPage } from './browser.js';
import { packageVersion } from './served.js';

/** Minutes that a page may take to load a model, or to run it once, on a GPU that may be the browser's software. */
const MOST_MINUTES = 30;

/** Whose CPU time is that of an engine, by device: a GPU's software computes in a process of the browser's own. */
const COUNTED = { cpu: 'pages', webgpu: 'all' };

/** Opens the page at `path` and loads the contender's model there; `packages` has the package of each side. */
export async function openEngine(
  { origin, path, packages, device = 'cpu' },
  { name, side, options },
  threads,
) {
  const opened = await openPage(origin, path, COUNTED[device]);
  try {
    const version = await packageVersion(origin, packages[side]);
    const order = [side, { ...options, threads }];
    const about = await inTime(
      opened.page.evaluate((args) => globalThis.bench.load(...args), order),
      'loading',
    );
    return { name, side, version, ...opened, about, wasmBytes: [await wasmBytes(opened)] };
  } catch (error) {
    await opened.browser.close();
    throw error;
  }
}

/** What a page was asked for, unless it takes too long. Who is told so closes the browser. */
export async function inTime(asked, what) {
  let timer;
  const late = new Promise((_, reject) => {
    const message = `${what} takes longer than ${MOST_MINUTES} minutes`;
    timer = setTimeout(() => reject(new Error(message)), MOST_MINUTES * 60_000);
  });
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Bytes of the wasm memory of a page's engine, where it says how many. */
export function wasmBytes({ page }) {
  return page.evaluate(() => globalThis.bench.wasmBytes());
}
