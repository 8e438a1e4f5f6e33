// Embedder: an encoder that stays loaded for its calls. What it does is fetched when one is first asked for: a page that
// translates needs none of it.

import type { Encoder } from './encoder.js';
import type * as encodingPart from './encoding.js';
import { show } from './shared-model.js';
import { destroyed, part } from './errors.js';
import type {
  AttentionRequest,
  Availability,
  Destroyable,
  EmbedCallOptions,
  Embedding,
  EmbedOptions,
  LoadedInfo,
  ModelOptions,
  Token,
} from './types.js';

/** Outside the class, so that its type stays the public one. */
const encoders = new WeakMap<Embedder, Encoder>();

/** Known to this module only, which alone makes the class. */
const OURS = Symbol('ours');

/** The part of the package that is about encoders. */
export function encoding(): Promise<typeof encodingPart> {
  return part('encoding.js', import('./encoding.js'));
}

/** A loaded model that turns texts into vectors. Ends with `destroy()`. */
export class Embedder implements LoadedInfo, Destroyable {
  declare readonly device: 'webgpu' | 'cpu';
  declare readonly deviceReason: string;
  declare readonly precision: 'float32' | 'int8';
  /** Length of a vector. */
  readonly dimensions: number;
  /** Most tokens of a text, those that the tokenizer adds included. */
  readonly maxTokens: number;

  private constructor(ours: symbol, encoder: Encoder) {
    if (ours !== OURS) throw new TypeError('an Embedder is made by Embedder.create()');
    const { info, facts } = encoder;
    show(this, info);
    this.dimensions = facts.dimensions;
    this.maxTokens = facts.maxTokens;
    encoders.set(this, encoder);
  }

  /** Whether the model is there, and whether its files are here already. */
  static async availability(options: ModelOptions = {}): Promise<Availability> {
    return (await encoding()).availability(options);
  }

  /** Loads the model; by default `all-minilm-l6-v2` of the index. */
  static async create(options: EmbedOptions = {}): Promise<Embedder> {
    return new Embedder(OURS, await (await encoding()).open(options));
  }

  embed(text: string, options?: EmbedCallOptions): Promise<Float32Array<ArrayBuffer>>;
  embed(texts: readonly string[], options?: EmbedCallOptions): Promise<Float32Array<ArrayBuffer>[]>;
  /** The vector of a text, or of each text of a list, each over a buffer of its own. */
  async embed(
    input: string | readonly string[],
    options: EmbedCallOptions = {},
  ): Promise<Float32Array<ArrayBuffer> & Float32Array<ArrayBuffer>[]> {
    // The overloads say which of both it is.
    return (await of(this).embed(input, options)) as Float32Array<ArrayBuffer> & Float32Array<ArrayBuffer>[];
  }

  /** The vectors with the texts' tokens, and whether a text was too long. */
  async embedDetailed(
    texts: readonly string[],
    options: EmbedCallOptions & { attention?: AttentionRequest } = {},
  ): Promise<Embedding[]> {
    return of(this).embedDetailed(texts, options);
  }

  /** Tokens of a text as the model reads it. */
  async tokenize(text: string): Promise<Token[]> {
    return of(this).tokenize(text);
  }

  /** Stops its open calls and frees the model, unless others use it. */
  destroy(): undefined {
    encoders.get(this)?.destroy();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve(this.destroy());
  }
}

function of(embedder: Embedder): Encoder {
  const encoder = encoders.get(embedder);
  if (encoder === undefined || encoder.isOver) throw destroyed('Embedder');
  return encoder;
}
