// Matching of BCP 47 language tags, best fit: pt-BR finds pt, zh-TW finds zh-Hant but not zh-Hans.

import { invalid, shown } from './errors.js';

/** `tag` in canonical form; a malformed one is 'invalid-argument' naming `option`. */
export function language(tag: unknown, option: string): Intl.Locale {
  try {
    if (typeof tag === 'string') return new Intl.Locale(tag);
  } catch {
    // named below
  }
  throw invalid(option, `a BCP 47 language tag such as "en" or "pt-BR" expected, got ${shown(tag)}`);
}

/** Whether it is a language tag. */
export function isTag(written: string): boolean {
  try {
    return new Intl.Locale(written).language !== '';
  } catch {
    return false;
  }
}

/** How well a model for `available` serves `wanted`: 0 not at all, 3 exactly. */
export function fit(wanted: Intl.Locale, available: string): number {
  let other: Intl.Locale;
  try {
    other = new Intl.Locale(available);
  } catch {
    return 0;
  }
  if (wanted.baseName === other.baseName) return 3;
  const [a, b] = [wanted.maximize(), other.maximize()];
  if (a.language !== b.language || a.script !== b.script) return 0;
  return a.region === b.region ? 2 : 1;
}

/** The model that serves the pair best, the first of equals. */
export function bestFor<Model extends { from?: string; to?: string }>(
  models: readonly Model[],
  from: Intl.Locale,
  to: Intl.Locale,
): Model | undefined {
  let best: Model | undefined;
  let bestFit = 0;
  for (const model of models) {
    const source = fit(from, model.from ?? '');
    const target = fit(to, model.to ?? '');
    const total = source === 0 || target === 0 ? 0 : source + target;
    if (total > bestFit) [best, bestFit] = [model, total];
  }
  return best;
}
