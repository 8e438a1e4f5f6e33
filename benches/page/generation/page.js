// The measured page of text generation: one engine, and the clock around its calls.

/** A prompt as text and as ids, for engines that take the one or the other.
 * @typedef {{ text: string, ids: number[] }} Prompt
 */

/** What a run was: tokens that the engine says it read and wrote, and when, in milliseconds from the call on.
 * @typedef {{ promptTokens: number, newTokens: number, firstMs: number, lastMs: number, text: string }} Run
 */

/** A loaded model of one side.
 * `generate` writes `count` tokens greedily after a prompt, nothing of which it has read before, and calls `onToken`
 * for each, or if the package hands out only the whole (`isStreaming` is false), at its end. `tokenize` gives ids and
 * where each token's text begins.
 * @typedef {{
 *   generate: (prompt: Prompt, count: number, onToken: () => void) => Promise<Omit<Run, 'firstMs' | 'lastMs'>>,
 *   tokenize?: (text: string) => Promise<{ id: number, start: number }[]>,
 *   wasmBytes?: () => Promise<number>,
 *   isStreaming?: boolean,
 *   about: string,
 * }} Engine
 */

/** @type {Engine | undefined} */
let engine;

const loaded = () => {
  if (engine === undefined) throw new Error('no engine is loaded');
  return engine;
};

globalThis.bench = {
  /** Loads `engines/<side>.js`'s engine; what it says of itself, and whether it hands out token by token. */
  async load(/** @type {string} */ side, /** @type {object} */ options) {
    const module = await import(`./engines/${side}.js`);
    engine = await module.load(options);
    return { about: engine.about, isStreaming: engine.isStreaming ?? true };
  },

  /** Texts cut to `count` tokens exactly, between two words. Those that have no such place are left out. */
  async prompts(/** @type {string[]} */ texts, /** @type {number} */ count) {
    const { tokenize } = loaded();
    const prompts = [];
    for (const whole of texts) {
      const end = (await tokenize(whole))[count]?.start;
      if (end === undefined || whole[end] !== ' ') continue;
      const text = whole.slice(0, end);
      const ids = (await tokenize(text)).map(({ id }) => id);
      if (ids.length === count) prompts.push({ text, ids });
    }
    return prompts;
  },

  /** One run; `sawToken`, if the page has it, is told of the first and the last token. @returns {Promise<Run>} */
  async run(/** @type {Prompt} */ prompt, /** @type {number} */ count) {
    let seen = 0;
    let first;
    let last;
    const onToken = () => {
      last = performance.now();
      first ??= last;
      seen += 1;
      if (seen === 1) globalThis.sawToken?.('first');
      // Some work on after it.
      else if (seen === count) globalThis.sawToken?.('last');
    };
    const start = performance.now();
    const run = await loaded().generate(prompt, count, onToken);
    if (first === undefined) throw new Error('no token came');
    return { ...run, firstMs: first - start, lastMs: last - start };
  },

  wasmBytes: () => loaded().wasmBytes?.(),
};
