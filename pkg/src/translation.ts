// What translate() and Translator share: finding the model of a pair, and running calls on it.

import { catalogue } from './catalogue.js';
import { modelBase } from './configure.js';
import { invalid, MultiheadError } from './errors.js';
import { bestFor, fit } from './languages.js';
import type { Requests } from './protocol.js';
import type { SharedModel } from './shared-model.js';
import { find, fromCatalogue, type FoundModel } from './sources.js';
import type { DecodingOptions, ModelSource, Translation } from './types.js';

/** The index's best model for the pair, or undefined. */
export async function findPair(from: Intl.Locale, to: Intl.Locale): Promise<FoundModel | undefined> {
  const base = modelBase();
  const models = (await catalogue(base)).filter(({ tasks }) => tasks.includes('translation'));
  const best = bestFor(models, from, to);
  return best === undefined ? undefined : fromCatalogue(best, base);
}

/** The model to use: the one named, or the best of the pair. */
export async function findModel(
  model: ModelSource | undefined,
  from: Intl.Locale,
  to: Intl.Locale,
): Promise<FoundModel> {
  if (model !== undefined) return findNamed(model, from, to);
  const found = await findPair(from, to);
  if (found !== undefined) return found;
  const base = modelBase();
  const pairs = (await catalogue(base)).flatMap((entry) =>
    entry.tasks.includes('translation') ? [entry.id] : [],
  );
  throw new MultiheadError(
    `no model translates ${from.baseName} to ${to.baseName}; the index of ${base.href} has ${pairs.join(', ') || 'none'}`,
    { code: 'model-not-found' },
  );
}

/** The model named; one of another pair would give nonsense. Files given by the caller say no languages. */
export async function findNamed(
  model: ModelSource,
  from: Intl.Locale | undefined,
  to: Intl.Locale,
): Promise<FoundModel> {
  const found = await find(model);
  if (serves(from, found.from) && serves(to, found.to)) return found;
  const asked = from === undefined ? `to ${to.baseName}` : `${from.baseName} to ${to.baseName}`;
  throw invalid(
    'model',
    `${found.id} translates ${found.from ?? '?'} to ${found.to ?? '?'}, not ${asked}. Leave model out, or name one of the pair`,
  );
}

function serves(wanted: Intl.Locale | undefined, has: string | undefined): boolean {
  return wanted === undefined || has === undefined || fit(wanted, has) > 0;
}

type Answers = {
  text: readonly string[];
  stream: readonly string[];
  detail: readonly Translation[];
  'pieces-and-detail': readonly Translation[];
};

/** Runs one call in the model's queue. */
export async function run<W extends Requests['translate']['ask']['want']>(
  model: SharedModel,
  texts: readonly string[],
  decoding: DecodingOptions,
  want: W,
  signal: AbortSignal | undefined,
  piece?: (text: string) => void,
): Promise<Answers[W]> {
  const { engine, number } = await model.ready(signal);
  const answer = await engine.request(
    'translate',
    { model: number, texts, decoding, want },
    { signal, ...(piece === undefined ? {} : { piece }) },
  );
  return answer as Answers[W];
}
