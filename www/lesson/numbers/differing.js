// What two answers have in common, by the longest common subsequence of their parts.

/**
 * The parts of `after`, and whether each is there in `before` as well, in the same order.
 * @param {readonly string[]} before @param {readonly string[]} after
 * @returns {{ part: string, isNew: boolean }[]}
 */
export function differing(before, after) {
  // common[i][j]: the length for what begins at i and at j.
  const common = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1));
  const at = (/** @type {number} */ i, /** @type {number} */ j) => common[i]?.[j] ?? 0;
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      const row = common[i];
      if (row === undefined) continue;
      row[j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  let i = 0;
  return after.map((part, j) => {
    // What would cost more to wait for is left behind.
    while (i < before.length && before[i] !== part && at(i + 1, j) >= at(i, j + 1)) i++;
    const isNew = before[i] !== part;
    if (!isNew) i++;
    return { part, isNew };
  });
}
