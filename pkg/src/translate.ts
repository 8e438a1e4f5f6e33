// translate(): one call from text to text. The model stays loaded for the next call, until unload().

import { abortable } from './abort.js';
import { encoding } from './embedder.js';
import { invalid, notBuilt } from './errors.js';
import { language } from './languages.js';
import {
  checkHtml,
  checkModelOptions,
  checkText,
  DECODING_OPTIONS,
  decodingOf,
  MODEL_OPTIONS,
  read,
  reading,
} from './options.js';
import { monitored } from './progress.js';
import { type FoundRoute, Route } from './route.js';
import { find } from './find.js';
import { kindOf } from './kinds.js';
import { SharedModel } from './shared-model.js';
import { findNamed, findRoute } from './translation.js';
import type { LoadedInfo, ModelOptions, TranslateOptions } from './types.js';

const NAMES = ['from', 'to', 'html', ...MODEL_OPTIONS, ...DECODING_OPTIONS];

export function translate(text: string, options: TranslateOptions): Promise<string>;
export function translate(texts: readonly string[], options: TranslateOptions): Promise<string[]>;
export function translate(
  input: string | readonly string[],
  options: TranslateOptions,
): Promise<string | string[]>;
/** Translates a text, or each text of a list on its own. */
export async function translate(
  input: string | readonly string[],
  options: TranslateOptions,
): Promise<string | string[]> {
  const taken = read(options, NAMES, 'translate()');
  const isList = reading('text', () => Array.isArray(input));
  // A hole in a list is undefined, and named like that.
  const texts: readonly unknown[] = isList
    ? reading('text', () => Array.from(input as readonly unknown[]))
    : [input];
  const checked = texts.map((text) => {
    checkText(text);
    return text;
  });
  const decoding = decodingOf(taken);
  checkHtml(taken.html);
  const translated = await withRoute(taken, (route, signal) =>
    route.run(checked, 'text', { decoding, signal }),
  );
  return isList ? [...translated] : (translated[0] ?? '');
}

/** Loads what translate() with these options will use, or generate(), embed() or transliterate() with this model, and keeps it. */
export async function warmup(options: ModelOptions | TranslateOptions): Promise<LoadedInfo> {
  const taken: ModelOptions & Partial<TranslateOptions> = read(options, NAMES, 'warmup()');
  const { model, to, signal } = taken;
  const found = model === undefined || to !== undefined ? undefined : await abortable(find(model), signal);
  const kind = found && kindOf(found.files);
  if (found === undefined || kind === 'translation') {
    return withRoute(taken, (route, both) => route.ready(both));
  }
  if (kind === 'encoder') {
    return (await encoding()).warmed(taken, found);
  }
  const shared = SharedModel.use('text', found, checkModelOptions(taken));
  try {
    const { info } = await shared.ready(signal, monitored(taken.monitor));
    shared.kept = true;
    return info;
  } finally {
    shared.release();
  }
}

async function withRoute<T>(
  options: ModelOptions & Partial<TranslateOptions>,
  work: (route: Route, signal: AbortSignal | undefined) => Promise<T>,
): Promise<T> {
  const { signal } = options;
  const computing = checkModelOptions(options);
  const report = monitored(options.monitor);
  const route = new Route(await abortable(chosen(options), signal), computing);
  try {
    await route.ready(signal, report);
    route.keep();
    return await work(route, signal);
  } finally {
    route.release();
  }
}

async function chosen({ model, from, to }: ModelOptions & Partial<TranslateOptions>): Promise<FoundRoute> {
  if (to === undefined) {
    if (model !== undefined) return [await find(model)];
    throw invalid('to', 'the language to translate to is missing');
  }
  const target = language(to, 'to');
  if (from !== undefined) return findRoute(model, language(from, 'from'), target);
  if (model === undefined) throw notBuilt('translate() without from (language detection)');
  return [await findNamed(model, undefined, target)];
}
