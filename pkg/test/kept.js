// A Cache Storage of the tests' own, in the place of the browser's.

/** What is kept, by key. @type {Map<string, Uint8Array<ArrayBuffer>>} */
export const kept = new Map();
export const storage = {
  /** @param {string} key */
  match: async (key) => {
    const bytes = kept.get(key);
    return bytes === undefined ? undefined : new Response(bytes);
  },
  /** @param {string} key @param {Response} response */
  put: async (key, response) => void kept.set(key, new Uint8Array(await response.arrayBuffer())),
  /** @param {string} key */
  delete: async (key) => kept.delete(key),
  keys: async () => [...kept.keys()].map((url) => ({ url })),
};
Object.assign(globalThis, { caches: { open: async () => storage } });
