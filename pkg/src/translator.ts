// Translator: the W3C Translator API's shape over a model of this package.

import { abortable, either } from './abort.js';
import { destroyed, invalid, part } from './errors.js';
import { language } from './languages.js';
import { availabilityOf } from './loader.js';
import {
  checkHtml,
  checkModelOptions,
  checkSignal,
  checkText,
  DECODING_OPTIONS,
  decodingOf,
  MODEL_OPTIONS,
  read,
} from './options.js';
import { monitored } from './progress.js';
import { Route } from './route.js';
import { show } from './shared-model.js';
import { findPair, findRoute } from './translation.js';
import type {
  AttentionRequest,
  Availability,
  DecodingOptions,
  Destroyable,
  LoadedInfo,
  TranslateCallOptions,
  Translation,
  TranslatorCreateCoreOptions,
  TranslatorCreateOptions,
} from './types.js';

interface State {
  route: Route;
  decoding: DecodingOptions;
  /** Aborted by destroy(). */
  life: AbortController;
}

/** Outside the class, so that its type stays the public one. */
const states = new WeakMap<Translator, State>();

const PAIR = ['sourceLanguage', 'targetLanguage'];
const CREATE = [...PAIR, ...MODEL_OPTIONS, ...DECODING_OPTIONS];

/** A loaded translation model for one pair of languages. Ends with `destroy()`. */
export class Translator implements LoadedInfo, Destroyable {
  readonly sourceLanguage: string;
  readonly targetLanguage: string;
  /** Text of any length is taken: it is split into sentences. */
  readonly inputQuota: number = Infinity;
  declare readonly device: 'webgpu' | 'cpu';
  declare readonly deviceReason: string;
  declare readonly precision: 'float32' | 'int8';

  private constructor(pair: readonly [string, string], info: LoadedInfo, state: State) {
    if (!((state as State | undefined)?.route instanceof Route)) {
      throw new TypeError('a Translator is made by Translator.create()');
    }
    [this.sourceLanguage, this.targetLanguage] = pair;
    show(this, info);
    states.set(this, state);
  }

  /** Whether the index has a model for the pair, or two through English, and whether they are here already. */
  static async availability(options: TranslatorCreateCoreOptions): Promise<Availability> {
    const { sourceLanguage, targetLanguage } = read(options, CREATE, 'Translator.availability()');
    const from = language(sourceLanguage, 'sourceLanguage');
    const found = await findPair(from, language(targetLanguage, 'targetLanguage'));
    return found === undefined ? 'unavailable' : availabilityOf(found);
  }

  /** Loads the model of the pair (or two, through English, where it has none of its own), or the one named by `model`. */
  static async create(options: TranslatorCreateOptions): Promise<Translator> {
    const taken = read(options, CREATE, 'Translator.create()');
    const { sourceLanguage, targetLanguage, model, signal, monitor } = taken;
    const computing = checkModelOptions(taken);
    const decoding = decodingOf(taken);
    const from = language(sourceLanguage, 'sourceLanguage');
    const to = language(targetLanguage, 'targetLanguage');
    const report = monitored(monitor);
    const found = await abortable(findRoute(model, from, to), signal);
    const route = new Route(found, computing);
    try {
      const info = await route.ready(signal, report);
      const pair = [sourceLanguage, targetLanguage] as const;
      return new Translator(pair, info, { route, decoding, life: new AbortController() });
    } catch (thrown) {
      route.release();
      throw thrown;
    }
  }

  async translate(text: string, options: TranslateCallOptions = {}): Promise<string> {
    return during(this, text, options, 'translate()', async (route, call) => {
      const [translated] = await route.run([text], 'text', call);
      return translated ?? '';
    });
  }

  /**
   * The translation in pieces, each as soon as its sentence is done; joined they are what translate() gives.
   * Through English they begin once the first line is in English.
   */
  translateStreaming(text: string, options: TranslateCallOptions = {}): ReadableStream<string> {
    const cancelled = new AbortController();
    return new ReadableStream<string>({
      start: (controller) => {
        const work = async (): Promise<void> => {
          await during(this, text, options, 'translateStreaming()', (route, { decoding, signal }) =>
            either(signal, cancelled.signal, (both) =>
              route.run([text], 'stream', {
                decoding,
                signal: both,
                piece: (piece) => {
                  controller.enqueue(piece);
                },
              }),
            ),
          );
          controller.close();
        };
        work().catch((reason: unknown) => {
          controller.error(reason);
        });
      },
      cancel: (reason) => {
        cancelled.abort(reason);
      },
    });
  }

  /** The translation with its sentences, tokens and alignments. */
  async translateDetailed(
    text: string,
    options: TranslateCallOptions & { attention?: AttentionRequest } = {},
  ): Promise<Translation> {
    const names = ['signal', 'html', 'attention'];
    const { attention, ...others } = read(options, names, 'Translator.translateDetailed()');
    return during(this, text, others, 'translateDetailed()', async (route, call) => {
      const look = await looking(attention, route, call.signal);
      const [translation] = await route.run([text], 'detail', call);
      return look(translation ?? { text: '', sentences: [] });
    });
  }

  /**
   * `target` as a translation of `source`: what its tokens look at, and how likely they are. Nothing is decoded. Lines
   * and sentences are paired where both texts have as many, else whole texts, cut only where they are too long for the
   * model. A plain sentence's own translation gives what translateDetailed() gave. Needs one model for the pair.
   */
  async align(
    source: string,
    target: string,
    options: { signal?: AbortSignal; attention?: AttentionRequest } = {},
  ): Promise<Translation> {
    checkText(source, 'source');
    checkText(target, 'target');
    const { attention, ...others } = read(options, ['signal', 'attention'], 'Translator.align()');
    return during(this, source, others, 'align()', async (route, call) => {
      const look = await looking(attention, route, call.signal);
      return look(await route.align(source, target, call));
    });
  }

  /** Tokens of the text. */
  async measureInputUsage(text: string, options: { signal?: AbortSignal } = {}): Promise<number> {
    return during(this, text, options, 'measureInputUsage()', (route, { signal }) =>
      route.measure(text, signal),
    );
  }

  /** Stops its open calls and frees the model, unless others use it. */
  destroy(): undefined {
    const state = states.get(this);
    if (state === undefined || state.life.signal.aborted) return;
    state.life.abort(new DOMException('the Translator was destroyed', 'AbortError'));
    state.route.release();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve(this.destroy());
  }
}

type Look = (translation: Translation) => Promise<Translation> | Translation;

/** What adds to a translation the attention that is asked for; it is fetched where any is. */
async function looking(attention: unknown, route: Route, signal: AbortSignal): Promise<Look> {
  if (attention === undefined || attention === false) return (translation) => translation;
  const { attending } = await part('attending.js', import('./attending.js'));
  return attending(attention, route, signal);
}

/** Whether one model translates, so that the borders of sentences are those of the source. */
export function isDirect(translator: Translator): boolean {
  return states.get(translator)?.route.isDirect ?? false;
}

/** translateDetailed(), which also hands out the text in pieces as its sentences are done. */
export async function detailInPieces(
  translator: Translator,
  text: string,
  signal: AbortSignal,
  piece: (text: string) => void,
): Promise<Translation> {
  return during(translator, text, { signal }, 'translateDetailed()', async (route, call) => {
    const [translation] = await route.run([text], 'pieces-and-detail', { ...call, piece });
    return translation ?? { text: '', sentences: [] };
  });
}

/** Every call: its checks, and `work` under the signal that stops it. */
async function during<T>(
  translator: Translator,
  text: unknown,
  options: TranslateCallOptions,
  method: string,
  work: (route: Route, call: { decoding: DecodingOptions; signal: AbortSignal }) => Promise<T>,
): Promise<T> {
  checkText(text);
  const allowed = method === 'measureInputUsage()' ? ['signal'] : ['signal', 'html'];
  const { signal: own, html } = read(options, allowed, `Translator.${method}`);
  checkSignal(own);
  checkHtml(html);
  const state = states.get(translator);
  if (state === undefined) throw invalid('this', 'not a Translator');
  const life = state.life.signal;
  if (life.aborted) throw destroyed('Translator');
  const { route, decoding } = state;
  return either(own, life, (signal) => work(route, { decoding, signal }));
}
