// Settings of the whole package, read when a model is loaded.

import { invalid, shown } from './errors.js';
import { platform } from './platform.js';
import type { Configuration } from './types.js';

const NAMES: ReadonlySet<string> = new Set<keyof Configuration>([
  'modelBase',
  'wasmBase',
  'workerUrl',
  'cache',
  'memoryLimit',
  'fetch',
]);

const current: Configuration = {};

/** Sets where files are and how they are kept. Options left out keep their value; loaded models are not touched. */
export function configure(options: Configuration): void {
  const given: unknown = options;
  if (typeof given !== 'object' || given === null) {
    throw invalid('options', `configure() takes an object, got ${shown(given)}`);
  }
  for (const name of Object.keys(options)) {
    if (!NAMES.has(name)) {
      throw invalid(name, `configure() has no such option; it has ${[...NAMES].join(', ')}`);
    }
  }
  const { cache, memoryLimit } = options;
  if (cache !== undefined && cache !== 'default' && cache !== 'none') {
    throw invalid('cache', `'default' or 'none' expected, got ${shown(cache)}`);
  }
  if (memoryLimit !== undefined && !(typeof memoryLimit === 'number' && memoryLimit > 0)) {
    throw invalid('memoryLimit', `a number of bytes above 0 expected, got ${shown(memoryLimit)}`);
  }
  for (const name of ['modelBase', 'wasmBase', 'workerUrl'] as const) {
    const address: unknown = options[name];
    if (address === undefined) continue;
    if (typeof address !== 'string' && !(address instanceof URL)) {
      throw invalid(name, `an address expected, got ${shown(address)}`);
    }
    absolute(address, name);
  }
  const { fetch } = options;
  if (fetch !== undefined && typeof fetch !== 'function') throw invalid('fetch', 'a function expected');
  Object.assign(current, options);
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
    throw Object.assign(invalid(option, `not an address: ${JSON.stringify(String(address))}`), { cause });
  }
}

/** Folder of the model index, ending in "/". */
export function modelBase(): URL {
  const url = absolute(current.modelBase ?? platform().models, 'modelBase');
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url;
}
