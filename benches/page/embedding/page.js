// The measured page of embedding: one engine, and the clock around its calls.

/** A loaded model of one side: the vectors of a text, or of each text of a list.
 * @typedef {{
 *   about: string,
 *   embed: (input: string | string[]) => Promise<Float32Array[]>,
 *   wasmBytes?: () => Promise<number>,
 * }} Engine
 */

/** @type {Engine | undefined} */
let engine;

/** @type {Float32Array[]} */
let vectors = [];

const loaded = () => {
  if (engine === undefined) throw new Error('no engine is loaded');
  return engine;
};

globalThis.bench = {
  /** Loads `engines/<side>.js`'s engine; what it says of itself. */
  async load(/** @type {string} */ side, /** @type {object} */ options) {
    const module = await import(`./engines/${side}.js`);
    engine = await module.load(options);
    return engine.about;
  },

  /** One run: calls with one text, or with lists of `batch` texts, each after the end of the one before; milliseconds. */
  async run(/** @type {string[]} */ texts, /** @type {number} */ batch) {
    const { embed } = loaded();
    vectors = [];
    const start = performance.now();
    for (let at = 0; at < texts.length; at += batch) {
      const input = batch === 1 ? texts[at] : texts.slice(at, at + batch);
      vectors.push(...(await embed(input)));
    }
    return performance.now() - start;
  },

  /** The vectors of the last run. */
  vectors: () => vectors.map((vector) => [...vector]),

  wasmBytes: () => loaded().wasmBytes?.(),
};
