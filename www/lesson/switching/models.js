// Small models whose files the page alters: a head is switched off in the bytes, and what comes of it is a model like any other.

import { classify, tagTokens, transliterate, unload } from '../../../pkg/dist/index.js';
import { fetched } from '../fetched.js';
import { withoutHead } from '../numbers/safetensors.js';
import { addressOf, DATES, MOODS, REVERSE_TRANSFORMER, THINGS } from '../small-models.js';

/** @typedef {import('../../../pkg/dist/index.js').ModelOptions} ModelOptions */
/** @typedef {{ files: Record<string, Blob> }} Files */
/** @typedef {{ said: string, probability: number }} Answer */
/** @typedef {'encoder' | 'decoder' | 'cross'} Kind */
/** @typedef {{ kind: Kind, layer: number, head: number }} Head */
/** @typedef {(text: string) => Promise<Answer>} Ask */
/**
 * @typedef {object} Facts
 * @property {string} texts What the held-out texts are. @property {number} heads In each attention of each layer.
 * @property {Partial<Record<Kind, (layer: number) => string>>} projections The output projection of each attention, by name.
 * @property {(text: string, options: ModelOptions) => Promise<Answer>} ask
 * @property {string} separator Between the parts of an answer, of which two answers are compared.
 */
/** @typedef {import('../small-models.js').SmallModel & Facts} Switchable */

/** Of each, the file with the weights. */
const WEIGHTS = 'model.safetensors';

/** All of them have two layers of each kind. */
export const LAYERS = 2;

/** The likeliest symbol at each step. @param {string} text @param {ModelOptions} options @returns {Promise<Answer>} */
async function write(text, options) {
  const { candidates } = await transliterate(text, { ...options, beamSize: 1 });
  const [best] = candidates;
  return { said: best?.text ?? '', probability: best?.probability ?? 0 };
}

const letters = {
  heads: 4,
  projections: {
    encoder: (/** @type {number} */ layer) => `encoder.layers.${layer}.self_attn.out_proj.weight`,
    decoder: (/** @type {number} */ layer) => `decoder.layers.${layer}.self_attn.out_proj.weight`,
    cross: (/** @type {number} */ layer) => `decoder.layers.${layer}.multihead_attn.out_proj.weight`,
  },
  ask: write,
  separator: '',
};

const encoder = {
  heads: 2,
  projections: {
    encoder: (/** @type {number} */ layer) => `bert.encoder.layer.${layer}.attention.output.dense.weight`,
  },
  separator: ', ',
};

/** @type {readonly Switchable[]} */
export const SWITCHABLE = [
  {
    ...letters,
    ...REVERSE_TRANSFORMER,
    texts: 'random strings of 3 to 12 letters',
  },
  {
    ...letters,
    ...DATES,
    texts: 'dates that the training has not seen',
  },
  {
    ...encoder,
    ...MOODS,
    texts: 'texts that the training has not seen',
    async ask(text, options) {
      const { labels } = await classify(text, options);
      return { said: labels[0]?.label ?? '', probability: labels[0]?.score ?? 0 };
    },
  },
  {
    ...encoder,
    ...THINGS,
    texts: 'texts that the training has not seen',
    async ask(text, options) {
      const { entities } = await tagTokens(text, options);
      return {
        said: entities.map(({ text: words, label }) => `${words}: ${label}`).join(', '),
        probability: Math.min(1, ...entities.map(({ score }) => score)),
      };
    },
  },
];

/** Every head of a model. @param {Switchable} model @returns {Head[]} */
export const headsOf = ({ projections, heads }) =>
  /** @type {Kind[]} */ (Object.keys(projections)).flatMap((kind) =>
    Array.from({ length: LAYERS * heads }, (_, place) => ({
      kind,
      layer: Math.floor(place / heads),
      head: place % heads,
    })),
  );

/** Texts with what is right, of each model. */
export async function heldOut() {
  const response = await fetched(addressOf('held-out.json'));
  return /** @type {Record<string, [text: string, right: string][]>} */ (await response.json());
}

/** A model with all heads, and without one. */
export class Loaded {
  #model;
  #weights;
  #others;
  /** With all heads: it stays loaded, and so does the worker. @type {Files} */
  #whole;

  /** @param {Switchable} model @param {Uint8Array<ArrayBuffer>} weights @param {Record<string, Blob>} others */
  constructor(model, weights, others) {
    this.#model = model;
    this.#weights = weights;
    this.#others = others;
    this.#whole = this.#filesWith(weights);
  }

  /** Fetches its files. @param {Switchable} model */
  static async open(model) {
    const weights = new Uint8Array(await (await fetched(addressOf(`${model.id}/${WEIGHTS}`))).arrayBuffer());
    const others = await Promise.all(
      model.files
        .filter((name) => name !== WEIGHTS)
        .map(
          async (name) =>
            /** @type {const} */ ([name, await (await fetched(addressOf(`${model.id}/${name}`))).blob()]),
        ),
    );
    return new Loaded(model, weights, Object.fromEntries(others));
  }

  /** With all heads. @type {Ask} */
  ask = (text) => this.#asks(this.#whole)(text);

  /**
   * What comes of `work` with a model that has one head less; it is freed after.
   * @template T
   * @param {Head} head @param {(ask: Ask) => Promise<T>} work
   */
  async without({ kind, layer, head }, work) {
    const projection = this.#model.projections[kind]?.(layer) ?? '';
    const files = this.#filesWith(withoutHead(this.#weights, projection, head, this.#model.heads));
    try {
      return await work(this.#asks(files));
    } finally {
      await unload(files);
    }
  }

  free() {
    return unload(this.#whole);
  }

  /** @param {Uint8Array<ArrayBuffer>} weights @returns {Files} */
  #filesWith(weights) {
    return { files: { ...this.#others, [WEIGHTS]: new Blob([weights]) } };
  }

  /** They are so small that a GPU would only wait. @param {Files} model @returns {Ask} */
  #asks(model) {
    return (text) => this.#model.ask(text, { device: 'cpu', model });
  }
}
