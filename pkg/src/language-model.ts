// LanguageModel: the Prompt API's shape over a decoder-only model of this package. What it does is fetched when one is
// first asked for: a page that translates needs none of it.

import { destroyed, part } from './errors.js';
import type { Conversation } from './conversation.js';
import type * as generationPart from './generation.js';
import { show } from './shared-model.js';
import type {
  AttentionRequest,
  Availability,
  Completion,
  Destroyable,
  LanguageModelCreateOptions,
  LoadedInfo,
  Prompt,
  PromptOptions,
  Token,
} from './types.js';

/** Outside the class, so that its type stays the public one. */
const conversations = new WeakMap<LanguageModel, Conversation>();

/** Known to this module only, which alone makes the class. */
const OURS = Symbol('ours');

/** The part of the package that is about language models. */
export function generation(): Promise<typeof generationPart> {
  return part('generation.js', import('./generation.js'));
}

/** A loaded language model with a conversation. Ends with `destroy()`. */
export class LanguageModel extends EventTarget implements LoadedInfo, Destroyable {
  declare readonly device: 'webgpu' | 'cpu';
  declare readonly deviceReason: string;
  declare readonly precision: 'float32' | 'int8';
  readonly topK: number;
  readonly temperature: number;
  oncontextoverflow: ((this: LanguageModel, event: Event) => unknown) | null = null;

  private constructor(ours: symbol, conversation: Conversation) {
    if (ours !== OURS) throw new TypeError('a LanguageModel is made by LanguageModel.create()');
    super();
    const { info, sampling } = conversation;
    show(this, info);
    this.topK = sampling.topK;
    this.temperature = sampling.temperature;
    conversations.set(this, conversation);
    conversation.overflowed = () => {
      this.dispatchEvent(new Event('contextoverflow'));
    };
    // A handler is a listener as well: what it throws is reported, and fails no call. One that is no function is none.
    this.addEventListener('contextoverflow', (event) => {
      const handler: unknown = this.oncontextoverflow;
      if (typeof handler === 'function') handler.call(this, event);
    });
  }

  /** Whether the model is there, and whether its files are here already. */
  static async availability(options: LanguageModelCreateOptions = {}): Promise<Availability> {
    return (await generation()).availability(options);
  }

  /** Loads the model and reads the initial prompts. */
  static async create(options: LanguageModelCreateOptions = {}): Promise<LanguageModel> {
    return new LanguageModel(OURS, await (await generation()).open(options));
  }

  /** How tokens are drawn where nothing is said, and the largest values that count. */
  static async params(): Promise<{
    defaultTopK: number;
    maxTopK: number;
    defaultTemperature: number;
    maxTemperature: number;
  }> {
    return (await generation()).params();
  }

  /** Tokens of the conversation so far. */
  get contextUsage(): number {
    return conversations.get(this)?.usage ?? 0;
  }

  /** Tokens that a conversation may have; past them its oldest turns are left out. */
  get contextWindow(): number {
    return conversations.get(this)?.window ?? 0;
  }

  /** Says something and waits for the whole answer. */
  async prompt(input: Prompt, options: PromptOptions = {}): Promise<string> {
    return of(this).prompt(input, options, 'prompt()');
  }

  /** Says something; the answer comes in pieces, which joined are the whole. Cancelling the stream stops the work. */
  promptStreaming(input: Prompt, options: PromptOptions = {}): ReadableStream<string> {
    return streamed(async (piece, cancelled) =>
      of(this).prompt(input, options, 'promptStreaming()', piece, cancelled),
    );
  }

  /** Says something that is not to be answered yet; it is read already. */
  async append(input: Prompt, options: { signal?: AbortSignal } = {}): Promise<undefined> {
    return of(this).append(input, options);
  }

  /** Another conversation that begins where this one is. */
  async clone(options: { signal?: AbortSignal } = {}): Promise<LanguageModel> {
    return new LanguageModel(OURS, await of(this).clone(options));
  }

  /** Goes on after a text as it is, without a chat. */
  async complete(
    text: string,
    options: PromptOptions & { logprobs?: boolean; attention?: AttentionRequest } = {},
  ): Promise<Completion> {
    return of(this).complete(text, options);
  }

  /** Log-probability of each token of the text given those before it (the first is NaN). */
  async score(
    text: string,
    options: { signal?: AbortSignal } = {},
  ): Promise<{ tokens: Token[]; logprobs: Float32Array<ArrayBuffer> }> {
    return of(this).score(text, options);
  }

  /** Tokens of a text, in which names of control tokens are text. */
  async tokenize(text: string): Promise<Token[]> {
    return of(this).tokenize(text);
  }

  /** The text of tokens; control tokens write nothing. */
  async detokenize(ids: readonly number[]): Promise<string> {
    return of(this).detokenize(ids);
  }

  /** Tokens that the input would add to the conversation. */
  async measureContextUsage(input: Prompt, options: { signal?: AbortSignal } = {}): Promise<number> {
    return of(this).measure(input, options);
  }

  /** Stops its open calls and frees the model, unless others use it. */
  destroy(): undefined {
    conversations.get(this)?.destroy();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve(this.destroy());
  }
}

function of(model: LanguageModel): Conversation {
  const conversation = conversations.get(model);
  if (conversation === undefined || conversation.isOver) throw destroyed('LanguageModel');
  return conversation;
}

/** A stream of what `work` hands out; cancelling it stops the work. */
export function streamed(
  work: (piece: (text: string) => void, cancelled: AbortSignal) => Promise<unknown>,
): ReadableStream<string> {
  const cancelled = new AbortController();
  return new ReadableStream<string>({
    start(controller) {
      void (async () => {
        try {
          await work((text) => {
            if (!cancelled.signal.aborted) controller.enqueue(text);
          }, cancelled.signal);
          if (!cancelled.signal.aborted) controller.close();
        } catch (thrown) {
          controller.error(thrown);
        }
      })();
    },
    cancel(reason) {
      cancelled.abort(reason);
    },
  });
}
