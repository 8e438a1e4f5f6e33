// Positions as numbers: sinusoids (Vaswani et al. 2017) and rotations (Su et al. 2021).

/**
 * Angle per position of each pair of dimensions: 10000^(−2i/d).
 * @param {number} width Even.
 */
export const frequencies = (width) =>
  Array.from({ length: width / 2 }, (_, pair) => 10_000 ** ((-2 * pair) / width));

/**
 * PE(p): sine and cosine of each angle, side by side.
 * @param {number} position @param {number} width Even.
 */
export const sinusoidal = (position, width) =>
  frequencies(width).flatMap((frequency) => [Math.sin(position * frequency), Math.cos(position * frequency)]);

/** Turns a pair (sin a, cos a) into (sin(a + b), cos(a + b)). @param {readonly number[]} pair @param {number} angle */
export function turn([sine = 0, cosine = 0], angle) {
  const [s, c] = [Math.sin(angle), Math.cos(angle)];
  return [sine * c + cosine * s, cosine * c - sine * s];
}

/** PE(p + k) made of PE(p) and k alone: each pair turned by k times its frequency. @param {readonly number[]} encoding @param {number} by */
export const shifted = (encoding, by) =>
  frequencies(encoding.length).flatMap((frequency, pair) =>
    turn(encoding.slice(2 * pair, 2 * pair + 2), by * frequency),
  );

/**
 * Rotary positions: each pair (x, y) of a query or key turned by p times its frequency.
 * @param {readonly number[]} vector Of even width. @param {number} position
 */
export const rotary = (vector, position) =>
  frequencies(vector.length).flatMap((frequency, pair) => {
    const [x = 0, y = 0] = vector.slice(2 * pair, 2 * pair + 2);
    const [s, c] = [Math.sin(position * frequency), Math.cos(position * frequency)];
    return [x * c - y * s, x * s + y * c];
  });
