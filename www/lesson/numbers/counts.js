// What attention costs, counted by formula: nothing here is measured.

/**
 * Multiply–adds of one layer of self-attention over n tokens, all heads together. The heads share the width, so their
 * number is no factor of the products; of the exponentials it is.
 * @param {number} length Tokens. @param {number} heads @param {number} headWidth
 */
export function layerCosts(length, heads, headWidth) {
  const width = heads * headWidth;
  return {
    /** Queries, keys, values and the output: four maps of width × width. */
    maps: 4 * length * width * width,
    /** q·k of every pair of tokens, in each head of `headWidth` components. */
    scores: heads * length * length * headWidth,
    /** Weights × values. */
    mixing: heads * length * length * headWidth,
    /** Of the softmax. */
    exponentials: heads * length * length,
  };
}

/** Bytes of the keys and values that a layer keeps, as float32. @param {number} length @param {number} width */
export const keptBytes = (length, width) => 2 * 4 * length * width;

/** Steps that wait for the one before, in a layer that reads a text of n tokens at once. @param {number} length */
export const steps = (length) => ({ recurrent: length, attention: 1 });

/** Numbers that a decoder can look at for each word of the source. @param {number} length @param {number} width */
export const perWord = (length, width) => ({ fixed: width / length, attention: width });
