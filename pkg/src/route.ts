// The way from one language to another: a model of the pair, or two in a row through English.

import { either } from './abort.js';
import { notSupported, part } from './errors.js';
import { transferBytes } from './loader.js';
import type { Computing } from './options.js';
import { throughBoth } from './pivot-stream.js';
import type { Requests } from './protocol.js';
import { SharedModel } from './shared-model.js';
import type { FoundModel } from './sources.js';
import type { DecodingOptions, LoadedInfo, Translation } from './types.js';

/** The models of a route, in the order in which text goes through them. */
export type FoundRoute = readonly [FoundModel] | readonly [FoundModel, FoundModel];

type Want = Requests['translate']['ask']['want'];

interface Answers {
  text: readonly string[];
  stream: readonly string[];
  detail: readonly Translation[];
  'pieces-and-detail': readonly Translation[];
}

/** What every call has. */
interface Call {
  decoding: DecodingOptions;
  signal: AbortSignal | undefined;
  /** Gets the pieces where they are wanted. */
  piece?: ((text: string) => void) | undefined;
}

export class Route {
  readonly #last: SharedModel;
  /** The model that translates to English first. */
  readonly #before: SharedModel | undefined;

  /** Uses the models until `release()`. */
  constructor(found: FoundRoute, computing: Computing) {
    const [first, second] = found;
    this.#before = second === undefined ? undefined : SharedModel.use('translation', first, computing);
    this.#last = SharedModel.use('translation', second ?? first, computing);
  }

  /** Whether one model does it all. */
  get isDirect(): boolean {
    return this.#before === undefined;
  }

  get #models(): SharedModel[] {
    return this.#before === undefined ? [this.#last] : [this.#before, this.#last];
  }

  /** Loads what is not loaded, at once; `report` gets the fraction of all bytes. */
  async ready(signal?: AbortSignal, report?: (loaded: number) => void): Promise<LoadedInfo> {
    const models = this.#models;
    const stop = new AbortController();
    const sizes = models.map(({ found }) => transferBytes(found));
    const weights = sizes.map((size) => (sizes.includes(undefined) ? 1 : (size ?? 1)));
    const whole = weights.reduce((sum, weight) => sum + weight, 0);
    const loaded = models.map(() => 0);
    return either(signal, stop.signal, async (both) => {
      const running = models.map((model, place) =>
        model.ready(both, (fraction) => {
          loaded[place] = fraction;
          const sum = loaded.reduce((total, own, index) => total + own * (weights[index] ?? 0), 0);
          report?.(loaded.every((own) => own === 1) ? 1 : sum / whole);
        }),
      );
      try {
        const infos = (await Promise.all(running)).map(({ info }) => info);
        const [info] = infos;
        if (info === undefined) throw new Error('a route has a model');
        return infos.every(({ precision }) => precision === 'int8')
          ? info
          : { ...info, precision: 'float32' };
      } catch (thrown) {
        // The other one is not needed alone.
        stop.abort(thrown);
        throw thrown;
      }
    });
  }

  /** Keeps the models in memory when nobody uses them. */
  keep(): void {
    for (const model of this.#models) model.kept = true;
  }

  release(): void {
    for (const model of this.#models) model.release();
  }

  /** Tokens of the text, as the first model sees it. */
  async measure(text: string, signal: AbortSignal): Promise<number> {
    return (this.#before ?? this.#last).asked(signal, ({ engine, number }) =>
      engine.request('measure', { model: number, text }, { signal }),
    );
  }

  /** Reads `target` as a translation of `source`, which one model can. */
  async align(source: string, target: string, { decoding, signal }: Call): Promise<Translation> {
    if (!this.isDirect) {
      throw notSupported(
        'Translator.align() takes a pair with a model of its own; through English neither model would read both texts',
      );
    }
    const [read] = await this.#last.asked(signal, ({ engine, number }) =>
      engine.request('align', { model: number, source, target, decoding }, { signal }),
    );
    // Lone surrogates do not get to the model, but nor do they move an offset.
    return { text: target, sentences: read?.sentences ?? [] };
  }

  /** What a sentence's tokens looked at; one model is needed for it. */
  async attend(
    ask: Pick<Requests['attend']['ask'], 'source' | 'target' | 'attention'>,
    signal: AbortSignal,
  ): Promise<Requests['attend']['answer']> {
    return this.#last.asked(signal, ({ engine, number }) =>
      engine.request('attend', { model: number, ...ask }, { signal }),
    );
  }

  /** Translates each text. */
  async run<W extends Want>(texts: readonly string[], want: W, call: Call): Promise<Answers[W]> {
    const [before, last] = [this.#before, this.#last];
    if (before === undefined) return step(last, texts, want, call);
    const { piece: _, ...quiet } = call;
    if (want === 'text') return step(last, await step(before, texts, 'text', quiet), want, call);
    if (want === 'stream') {
      const whole = await throughBoth(
        texts[0] ?? '',
        (text) => only(step(before, [text], 'text', quiet)),
        (text) => only(step(last, [text], 'stream', call)),
      );
      return [whole] as readonly string[] as Answers[W];
    }
    // Only who wants more than text needs it.
    const { chained } = await part('pivot.js', import('./pivot.js'));
    const first = await step(before, texts, 'detail', quiet);
    const middle = first.map(({ text }) => text);
    const second = await step<'detail' | 'pieces-and-detail'>(last, middle, want, call);
    return first.map((translation, place) =>
      chained(translation, second[place] ?? { text: '', sentences: [] }),
    ) as readonly Translation[] as Answers[W];
  }
}

async function only(answer: Promise<readonly string[]>): Promise<string> {
  return (await answer)[0] ?? '';
}

/** Runs one call in a model's queue. */
async function step<W extends Want>(
  model: SharedModel,
  texts: readonly string[],
  want: W,
  { decoding, signal, piece }: Call,
): Promise<Answers[W]> {
  const answer = await model.asked(
    signal,
    ({ engine, number }, tell) =>
      engine.request('translate', { model: number, texts, decoding, want }, { signal, piece: tell }),
    piece,
  );
  return answer as Answers[W];
}
