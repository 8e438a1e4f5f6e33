// Members of the public surface that are not built yet: each rejects, naming itself.

import { notBuilt } from './errors.js';
import type {
  Availability,
  CreateMonitor,
  Destroyable,
  PageTranslation,
  PageTranslationOptions,
} from './types.js';

export async function translateElement(
  _root: Element | ShadowRoot | Document,
  _options: PageTranslationOptions,
): Promise<PageTranslation> {
  throw notBuilt('translateElement()');
}

export function installPolyfill(_options?: { force?: boolean }): string[] {
  throw notBuilt('installPolyfill()');
}

export class LanguageDetector implements Destroyable {
  declare readonly expectedInputLanguages: readonly string[] | null;
  declare readonly inputQuota: number;

  private constructor() {
    throw notBuilt('LanguageDetector');
  }

  static async availability(_options?: {
    expectedInputLanguages?: readonly string[];
  }): Promise<Availability> {
    throw notBuilt('LanguageDetector.availability()');
  }

  static async create(_options?: {
    expectedInputLanguages?: readonly string[];
    signal?: AbortSignal;
    monitor?: (monitor: CreateMonitor) => void;
  }): Promise<LanguageDetector> {
    throw notBuilt('LanguageDetector.create()');
  }

  declare detect: (
    input: string,
    options?: { signal?: AbortSignal },
  ) => Promise<{ detectedLanguage: string; confidence: number }[]>;
  declare measureInputUsage: (input: string, options?: { signal?: AbortSignal }) => Promise<number>;
  declare destroy: () => undefined;
  declare [Symbol.asyncDispose]: () => Promise<void>;
}
