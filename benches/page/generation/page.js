// The measured page of text generation: one engine, and the clock around its calls.

/** A prompt as text and as ids, for engines that take the one or the other.
 * @typedef {{ text: string, ids: number[] }} Prompt
 */

/** What an engine says that it read and wrote; `cachedTokens`: of the prompt, what it had read before.
 * @typedef {{ promptTokens: number, newTokens: number, cachedTokens?: number, text: string }} Written
 */

/** Milliseconds of a prompt up to the first token, and of the `timedTokens` after it.
 * @typedef {Written & { promptMs: number, newMs: number, timedTokens: number }} Run
 */

/** A loaded model of one side, which writes greedily: `stream` after a prompt nothing of which it has read before, and
 * calls `onToken` for each token. Where a package hands out only the whole, `begin` forgets what was read, and `complete`
 * writes. `tokenize` gives ids and where each token's text begins.
 * @typedef {{
 *   about: string,
 *   stream?: (prompt: Prompt, count: number, onToken: () => void) => Promise<Written>,
 *   begin?: () => Promise<void>,
 *   complete?: (prompt: Prompt, count: number) => Promise<Written>,
 *   tokenize?: (text: string) => Promise<{ id: number, start: number }[]>,
 *   wasmBytes?: () => Promise<number>,
 * }} Engine
 */

/** @type {Engine | undefined} */
let engine;

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

  /** One run. @returns {Promise<Run>} */
  run(/** @type {Prompt} */ prompt, /** @type {number} */ count) {
    return loaded().stream === undefined ? runWhole(prompt, count) : runStreaming(prompt, count);
  },

  wasmBytes: () => loaded().wasmBytes?.(),
};

/** Tells the one who measures CPU time, if there is one, that the first or the last token is there. */
const saw = async (/** @type {'first' | 'last'} */ token) => globalThis.sawToken?.(token);

async function runStreaming(/** @type {Prompt} */ prompt, /** @type {number} */ count) {
  let seen = 0;
  let first;
  let last;
  const start = performance.now();
  const written = await loaded().stream(prompt, count, () => {
    last = performance.now();
    first ??= last;
    seen += 1;
    // Some work on after the last one.
    if (seen === 1 || seen === count) void saw(seen === 1 ? 'first' : 'last');
  });
  if (first === undefined) throw new Error('no token came');
  return { ...written, promptMs: first - start, newMs: last - first, timedTokens: written.newTokens - 1 };
}

/** A call for one token, then one for all, whose prompt has been read by then. */
async function runWhole(/** @type {Prompt} */ prompt, /** @type {number} */ count) {
  const { begin, complete } = loaded();
  await begin();
  const start = performance.now();
  const { cachedTokens: before } = await complete(prompt, 1);
  const promptMs = performance.now() - start;
  await saw('first');
  const again = performance.now();
  const written = await complete(prompt, count);
  const newMs = performance.now() - again;
  await saw('last');
  const { cachedTokens: since, promptTokens } = written;
  // The last one is read again for what follows it.
  if (before !== 0 || since < promptTokens - 1) {
    throw new Error(
      `${before} tokens of the prompt had been read before the first call, ${since} before the second`,
    );
  }
  return { ...written, promptMs, newMs, timedTokens: written.newTokens };
}
