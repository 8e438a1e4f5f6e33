// Files of safetensors, as bytes: a length of 8, a table in JSON, numbers. Only float32 matrices are altered here.

/** @typedef {Uint8Array<ArrayBuffer>} Bytes */

/**
 * Where a matrix lies, and its shape: [outputs, inputs], row by row.
 * @param {Bytes} bytes @param {string} name
 * @throws {Error} If the file has no such matrix of float32.
 */
export function matrixIn(bytes, name) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const size = Number(view.getBigUint64(0, true));
  const table =
    /** @type {Record<string, { dtype: string, shape: number[], data_offsets: number[] } | undefined>} */ (
      JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + size)))
    );
  const { dtype, shape = [], data_offsets: [start = NaN] = [] } = table[name] ?? {};
  const [outputs, inputs] = shape;
  if (dtype !== 'F32' || outputs === undefined || inputs === undefined || shape.length > 2) {
    throw new Error(`${name} is no matrix of float32 in this file`);
  }
  return { start: 8 + size + start, outputs, inputs };
}

/**
 * The file with one head switched off. An output projection reads all heads side by side, so each has as many of its columns as
 * it is wide; where these are 0, nothing of what the head has mixed arrives. The bias stays.
 * @param {Bytes} bytes @param {string} projection Its name. @param {number} head @param {number} heads
 * @returns {Bytes} A copy.
 */
export function withoutHead(bytes, projection, head, heads) {
  const { start, outputs, inputs } = matrixIn(bytes, projection);
  const altered = bytes.slice();
  const width = inputs / heads;
  for (let output = 0; output < outputs; output++) {
    const row = start + 4 * output * inputs;
    // Four bytes of 0 are 0.
    altered.fill(0, row + 4 * head * width, row + 4 * (head + 1) * width);
  }
  return altered;
}
