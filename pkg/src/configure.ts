// Settings of the whole package, read when a model is loaded.

import { invalid, shown } from './errors.js';
import { read, reading } from './options.js';
import { platform } from './platform.js';
import type { Configuration } from './types.js';

const NAMES: readonly (keyof Configuration)[] = [
  'modelBase',
  'wasmBase',
  'workerUrl',
  'cache',
  'memoryLimit',
  'fetch',
];

const current = Object.create(null) as Configuration;

/** Sets where files are and how they are kept. Options left out or undefined keep their value; loaded models are not touched. */
export function configure(options: Configuration): void {
  const taken = read(options, NAMES, 'configure()');
  const { cache, memoryLimit } = taken;
  if (cache !== undefined && cache !== 'default' && cache !== 'none') {
    throw invalid('cache', `'default' or 'none' expected, got ${shown(cache)}`);
  }
  if (memoryLimit !== undefined && !(typeof memoryLimit === 'number' && memoryLimit > 0)) {
    throw invalid('memoryLimit', `a number of bytes above 0 expected, got ${shown(memoryLimit)}`);
  }
  for (const name of ['modelBase', 'wasmBase', 'workerUrl'] as const) {
    const given: unknown = taken[name];
    if (given === undefined) continue;
    const isAddress = reading(name, () => typeof given === 'string' || given instanceof URL);
    if (!isAddress) throw invalid(name, `an address expected, got ${shown(given)}`);
    const address = given as string | URL;
    const url = name === 'workerUrl' ? absolute(address, name) : folderAddress(address, name);
    // An object may change.
    if (typeof address !== 'string') taken[name] = url.href;
  }
  const { fetch } = taken;
  if (fetch !== undefined && typeof fetch !== 'function') throw invalid('fetch', 'a function expected');
  Object.assign(current, taken);
}

/** The settings in force. */
export function configuration(): Readonly<Configuration> {
  return current;
}

/** `address` in full: relative to the page, or in Node to the working folder. */
export function absolute(address: string | URL, option: string): URL {
  try {
    return new URL(address, platform().base());
  } catch (cause) {
    const written = typeof address === 'string' ? address : 'what it says of itself is none';
    throw invalid(option, `not an address: ${shown(written)}`, cause);
  }
}

/** As {@link absolute}, of a folder: ending in "/", and with files beneath it, as `data:` and the like have none. */
export function folderAddress(address: string | URL, option: string): URL {
  const url = absolute(address, option);
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  if (resolved('file', url) === undefined) {
    throw invalid(option, `the address of a folder expected, got ${shown(url.href)}`);
  }
  return url;
}

/** An address as it is written relative to another; undefined where that is none. */
export function resolved(written: string, base: URL): URL | undefined {
  try {
    return new URL(written, base);
  } catch {
    return undefined;
  }
}

/** Folder of the model index. */
export function modelBase(): URL {
  return folderAddress(current.modelBase ?? platform().models, 'modelBase');
}
