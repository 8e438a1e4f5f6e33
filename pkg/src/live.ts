// Translation of a text that is being written: only what changed is translated again, and the newest text wins.

import { invalid, part, shown } from './errors.js';
import type { Following } from './following.js';
import { checkText, read } from './options.js';
import { Translator } from './translator.js';
import type { Translation } from './types.js';

/** A translation on its way. */
export interface LiveProgress extends Translation {
  source: string;
  /**
   * Range of `text` that isn't translated yet: it shows what stood there before. Sentences are given for what lies
   * before and behind it.
   */
  pending: [number, number];
}

/** A finished translation. */
export interface LiveTranslationResult extends Translation {
  source: string;
  /** Ranges of `source` that went to the model for this result; everything else was known. */
  translated: [number, number][];
}

export interface LiveTranslationOptions {
  /** Called as sentences are done; not any more once a newer text was given. */
  onProgress?: (progress: LiveProgress) => void;
}

/**
 * Follows a text that is being edited. The result of `update(text)` is that of `translator.translateDetailed(text)`,
 * but sentences that haven't changed keep their translation, and a text given meanwhile takes the place of the one
 * under way.
 */
export class LiveTranslation {
  readonly #translator: Translator;
  readonly #onProgress: ((progress: LiveProgress) => void) | undefined;
  #following: Following | undefined;
  #stop = new AbortController();

  constructor(translator: Translator, options: LiveTranslationOptions = {}) {
    const given: unknown = translator;
    if (!(given instanceof Translator)) throw invalid('translator', 'a Translator expected');
    const { onProgress } = read(options, ['onProgress'], 'LiveTranslation');
    if (onProgress !== undefined && typeof onProgress !== 'function') {
      throw invalid('onProgress', `a function expected, got ${shown(onProgress)}`);
    }
    this.#translator = translator;
    this.#onProgress = onProgress;
  }

  /** Translates `text`; undefined if a newer text (or `stop()`) came before it was done. */
  async update(text: string): Promise<LiveTranslationResult | undefined> {
    checkText(text);
    this.stop();
    const { signal } = (this.#stop = new AbortController());
    try {
      const { Following: Class } = await part('following.js', import('./following.js'));
      signal.throwIfAborted();
      this.#following ??= new Class(this.#translator, this.#onProgress);
      return await this.#following.translate(text, signal);
    } catch (thrown) {
      if (signal.aborted) return undefined;
      throw thrown;
    }
  }

  /** Ends the update under way. What it has translated is kept for the next one. */
  stop(): void {
    this.#stop.abort();
  }
}
