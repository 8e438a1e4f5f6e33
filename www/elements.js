// The elements of the page, by id and kind.

/**
 * @template {typeof HTMLElement} Kind
 * @param {string} id
 * @param {Kind} kind
 * @returns {InstanceType<Kind>}
 */
export function element(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`no ${kind.name} #${id}`);
  return /** @type {InstanceType<Kind>} */ (found);
}

/** @param {string} text */
export const wordsIn = (text) => text.split(/\s+/u).filter(Boolean).length;

/** @param {number} bytes */
export const megabytes = (bytes) => (bytes / 1e6).toFixed(1);
