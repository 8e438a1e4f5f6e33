// An encoder in memory, and the calls of its user.

import { either } from './abort.js';
import { attentionOf, checkRoom } from './attention.js';
import { CALL, poolingOf, reporting, textsOf } from './encoder-options.js';
import { MultiheadError } from './errors.js';
import { checkSignal, checkText, read, reading } from './options.js';
import type { AttentionMessage, EncoderInfo, EncoderTask, PoolingMessage, Vectors } from './protocol.js';
import type { RunningModel, SharedModel } from './shared-model.js';
import type {
  AttentionRequest,
  EmbedCallOptions,
  Embedding,
  EmbedOptions,
  LoadedInfo,
  Token,
} from './types.js';

type Vector = Float32Array<ArrayBuffer>;

/** Texts that go to the worker in one request: what it holds of a list, and what comes back, stays small. */
const TOGETHER = 256;

/** What each task is called by, and what a model has that can do it. */
const TASKS: Readonly<Record<EncoderTask, readonly [call: string, head: string]>> = {
  embed: ['embed()', 'vectors'],
  classify: ['classify()', 'a head for labels of texts (…ForSequenceClassification)'],
  tag: ['tagTokens()', 'a head for labels of tokens (…ForTokenClassification)'],
  fill: ['fillMask()', 'a head for masked tokens (…ForMaskedLM)'],
  transliterate: ['transliterate()', 'a model over letters'],
};

export class Encoder {
  readonly info: LoadedInfo;
  readonly facts: EncoderInfo;
  readonly #shared: SharedModel;
  readonly #pooling: PoolingMessage;
  readonly #life = new AbortController();

  /** Takes over the caller's use of the model. */
  constructor(shared: SharedModel, running: RunningModel, options: EmbedOptions) {
    this.#shared = shared;
    this.info = running.info;
    this.facts = factsOf(running);
    this.#pooling = poolingOf(options);
  }

  get isOver(): boolean {
    return this.#life.signal.aborted;
  }

  async embed(input: unknown, options: EmbedCallOptions): Promise<Vector | Vector[]> {
    const { signal: own, onProgress } = read(options, CALL, 'Embedder.embed()');
    checkSignal(own);
    const { texts, isList } = textOrTexts(input);
    const report = reporting(onProgress);
    const vectors: Vector[] = [];
    await either(own, this.#life.signal, (signal) =>
      embedAll(this.#shared, texts, this.#pooling, {}, signal, report, (part) => {
        vectors.push(...vectorsOf(part, this.facts));
      }),
    );
    return isList ? vectors : onlyOf(vectors);
  }

  async embedDetailed(
    input: unknown,
    options: EmbedCallOptions & { attention?: AttentionRequest },
  ): Promise<Embedding[]> {
    const taken = read(options, [...CALL, 'attention'], 'Embedder.embedDetailed()');
    checkSignal(taken.signal);
    const attention = attentionOf(taken.attention);
    const texts = textsOf(input);
    const report = reporting(taken.onProgress);
    const embeddings: Embedding[] = [];
    await either(taken.signal, this.#life.signal, (signal) =>
      embedAll(this.#shared, texts, this.#pooling, { detail: true, attention }, signal, report, (part) => {
        const { truncated, tokens, attention: weights } = part;
        for (const [place, vector] of vectorsOf(part, this.facts).entries()) {
          const own = weights?.[place];
          embeddings.push({
            vector,
            truncated: truncated[place] === true,
            tokens: tokens?.[place] ?? [],
            ...(own === undefined ? {} : { attention: own }),
          });
        }
      }),
    );
    return embeddings;
  }

  async tokenize(text: unknown): Promise<Token[]> {
    checkText(text);
    const { signal } = this.#life;
    return this.#shared.asked(signal, ({ engine, number }) =>
      engine.request('tokenize', { model: number, text }, { signal }),
    );
  }

  /** Stops its open calls and frees the model, unless others use it. */
  destroy(): undefined {
    if (this.isOver) return;
    this.#life.abort(new DOMException('the Embedder was destroyed', 'AbortError'));
    this.#shared.release();
  }
}

/** What a running encoder says of itself. */
export function factsOf({ encoder }: RunningModel): EncoderInfo {
  if (encoder === undefined) throw new TypeError('an encoder that says nothing of itself');
  return encoder;
}

/** An error for a model that has not the head that the call needs; it says what the model can do. */
export function checkTask(id: string, { tasks, architecture }: EncoderInfo, task: EncoderTask): void {
  if (tasks.includes(task)) return;
  const [call, head] = TASKS[task];
  const others = tasks.map((one) => TASKS[one][0]).join(', ');
  throw new MultiheadError(
    `${id} (${architecture}) cannot do ${call}, which takes ${head}; it can do: ${others}. Name a model that has one`,
    { code: 'model-unsupported', option: 'model' },
  );
}

/** A text, or a list of texts. */
export function textOrTexts(input: unknown): { texts: string[]; isList: boolean } {
  const isList = reading('text', () => Array.isArray(input));
  if (isList) return { texts: textsOf(input), isList };
  checkText(input);
  return { texts: [input], isList };
}

/**
 * Embeds the texts, some at a time; `take` gets the answers in order. With `attention` one at a time, so that the worker holds
 * the weights of one text; 'out-of-memory' once those of the texts so far are more than a call's may be.
 */
export async function embedAll(
  shared: SharedModel,
  texts: readonly string[],
  options: PoolingMessage,
  { detail = false, attention }: { detail?: boolean; attention?: AttentionMessage | undefined },
  signal: AbortSignal | undefined,
  report: ((done: number, total: number) => void) | undefined,
  take: (part: Vectors) => void,
): Promise<void> {
  // An error says which of all texts is too long.
  const most = options.tooLong === 'error' ? texts.length : TOGETHER;
  const together = attention === undefined ? most : 1;
  let bytes = 0;
  for (let start = 0; start < texts.length; start += together) {
    const some = texts.slice(start, start + together);
    let told = 0;
    const progress = (done: number): void => {
      if (done <= told) return;
      told = done;
      report?.(start + done, texts.length);
    };
    // A worker that died meanwhile is another one.
    const asked = shared.asked(signal, ({ engine, number }) =>
      engine.request(
        'embed',
        { model: number, texts: some, options, detail, attention },
        { signal, progress },
      ),
    );
    const part = await (some.length < texts.length ? asked.catch(ofList(start)) : asked);
    for (const { encoder } of part.attention ?? []) bytes += encoder?.weights.byteLength ?? 0;
    checkRoom(bytes, ` for the first ${start + 1} texts`);
    take(part);
    progress(some.length);
  }
}

/** Has an error that a single text is too long say which of the list it is. */
function ofList(place: number): (thrown: unknown) => never {
  return (thrown) => {
    if (!(thrown instanceof MultiheadError) || thrown.option !== 'tooLong') throw thrown;
    const message = thrown.message.replace('the text has', `text ${place} of the list (counted from 0) has`);
    throw new MultiheadError(message, { code: thrown.code, option: thrown.option });
  };
}

/** The vectors apart: whoever keeps one, or sends it elsewhere, does not keep the others with it. */
export function vectorsOf({ vectors, truncated }: Vectors, { dimensions }: EncoderInfo): Vector[] {
  return truncated.map((_, place) => vectors.slice(place * dimensions, (place + 1) * dimensions));
}

/** The vector of a single text. */
export function onlyOf([vector]: readonly Vector[]): Vector {
  if (vector === undefined) throw new TypeError('no vector came');
  return vector;
}
