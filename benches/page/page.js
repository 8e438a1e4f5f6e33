// The measured page: engines by name, and the clock around their calls.

/** A loaded model of one side: what its users call, and nothing of its inside.
 * @typedef {{
 *   translate: (text: string) => Promise<string>,
 *   translateList: (texts: string[]) => Promise<string[]>,
 *   destroy: () => unknown,
 *   reason?: string,
 * }} Engine
 */

/** @type {Map<string, Engine>} */
const engines = new Map();

const engine = (/** @type {string} */ key) => {
  const found = engines.get(key);
  if (found === undefined) throw new Error(`no engine ${key} is loaded`);
  return found;
};

/** Files of a model by role, in hand. @type {Record<string, { name: string, blob: Blob }> | undefined} */
let held;

globalThis.bench = {
  /** Fetches a model's files and a side's script, so that neither is on the clock of a later `load`. */
  async hold(/** @type {string} */ side, /** @type {Record<string, string>} */ files) {
    await import(`./engines/${side}.js`);
    held = {};
    for (const [role, address] of Object.entries(files)) {
      const name = address.slice(address.lastIndexOf('/') + 1);
      held[role] = { name, blob: await (await fetch(address)).blob() };
    }
  },

  /** Loads `page/engines/<side>.js`'s engine under a key; what it says it computes on. */
  async load(/** @type {string} */ key, /** @type {string} */ side, /** @type {object} */ options) {
    const module = await import(`./engines/${side}.js`);
    const loaded = await module.load({ ...options, held });
    engines.set(key, loaded);
    return loaded.reason;
  },

  /** One call per line, each after the end of the one before; milliseconds of each call and of all. */
  async oneByOne(/** @type {string} */ key, /** @type {string[]} */ lines) {
    const { translate } = engine(key);
    const outputs = [];
    const calls = [];
    const start = performance.now();
    for (const line of lines) {
      const called = performance.now();
      outputs.push(await translate(line));
      calls.push(performance.now() - called);
    }
    return { milliseconds: performance.now() - start, calls, outputs };
  },

  /** All lines at once. */
  async atOnce(/** @type {string} */ key, /** @type {string[]} */ lines) {
    const { translateList } = engine(key);
    const start = performance.now();
    const outputs = await translateList(lines);
    return { milliseconds: performance.now() - start, calls: [], outputs };
  },

  async destroy(/** @type {string} */ key) {
    await engine(key).destroy();
    engines.delete(key);
  },
};
