// A contender's model in a browser of its own: what CPU time it takes is told from that of the others.

import { openPage } from './browser.js';
import { packageVersion } from './served.js';

/** Opens the page at `path` and loads the contender's model there; `packages` has the package of each side. */
export async function openEngine({ origin, path, packages }, { name, side, options }, threads) {
  const opened = await openPage(origin, path);
  const version = await packageVersion(origin, packages[side]);
  const order = [side, { ...options, threads }];
  const about = await opened.page.evaluate((args) => globalThis.bench.load(...args), order);
  return { name, side, version, ...opened, about, wasmBytes: [await wasmBytes(opened)] };
}

/** Bytes of the wasm memory of a page's engine, where it says how many. */
export function wasmBytes({ page }) {
  return page.evaluate(() => globalThis.bench.wasmBytes());
}
