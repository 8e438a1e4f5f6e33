// What translate() and Translator share: finding the models of a pair.

import { catalogue } from './catalogue.js';
import { modelBase } from './configure.js';
import { invalid, MultiheadError } from './errors.js';
import { find } from './find.js';
import { bestFor, fit } from './languages.js';
import type { FoundRoute } from './route.js';
import { fromCatalogue, type FoundModel } from './sources.js';
import type { ModelSource } from './types.js';

/** What pairs without a model of their own go through. */
const PIVOT = new Intl.Locale('en');

/** The index's best model for the pair, else its best two through English, or undefined. */
export async function findPair(from: Intl.Locale, to: Intl.Locale): Promise<FoundRoute | undefined> {
  const base = modelBase();
  const models = (await catalogue(base)).models.filter(({ tasks }) => tasks.includes('translation'));
  const direct = bestFor(models, from, to);
  if (direct !== undefined) return [fromCatalogue(direct, base)];
  // From a language to itself there is no way; from and to English only a direct one.
  if ([fit(from, to.baseName), fit(from, 'en'), fit(to, 'en')].some((fits) => fits > 0)) return undefined;
  const first = bestFor(models, from, PIVOT);
  const second = bestFor(models, PIVOT, to);
  if (first === undefined || second === undefined) return undefined;
  return [fromCatalogue(first, base), fromCatalogue(second, base)];
}

/** The models to use: the one named, or the best of the pair. */
export async function findRoute(
  model: ModelSource | undefined,
  from: Intl.Locale,
  to: Intl.Locale,
): Promise<FoundRoute> {
  if (model !== undefined) return [await findNamed(model, from, to)];
  const found = await findPair(from, to);
  if (found !== undefined) return found;
  const base = modelBase();
  const { models, unreadable } = await catalogue(base);
  const pairs = models.flatMap((entry) => (entry.tasks.includes('translation') ? [entry.id] : []));
  const others = unreadable.map(({ what, why }) => `; ${what} cannot be read: ${why}`).join('');
  throw new MultiheadError(
    `no model translates ${from.baseName} to ${to.baseName}, nor do two through English; the index of ${base.href} has ${pairs.join(', ') || 'none'}${others}. For more: npx multihead models list`,
    { code: 'model-not-found' },
  );
}

/** The model named; one of another pair would give nonsense. Files given by the caller say no languages. */
export async function findNamed(
  model: ModelSource,
  from: Intl.Locale | undefined,
  to: Intl.Locale,
): Promise<FoundModel> {
  const found = await find(model, 'translation');
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
