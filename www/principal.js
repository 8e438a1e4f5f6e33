// Principal components: the directions in which vectors differ most, by power iteration.

import { Pace } from './pace.js';

/**
 * @typedef {object} Plane
 * @property {Float64Array} mean
 * @property {[Float64Array, Float64Array]} axes Of length 1 and at right angles, the one of the larger spread first.
 * @property {[number, number]} middle Where the mean lies on the axes.
 * @property {number} share How much of the vectors' spread (the sum of squares from their mean) lies in the plane, 0 to 1.
 */

/** Most steps for an axis; the nearer two spreads are to each other, the more it takes to tell them apart. */
const STEPS = 60;
/** An axis that turns by less in a step (one minus the cosine) stays as it is. */
const STILL = 1e-7;

/**
 * The plane in which the vectors are seen best.
 * @param {readonly Float32Array[]} vectors All of one length.
 * @param {Plane} [before] Of most of the same vectors: takes fewer steps, and left stays left.
 * @returns {Promise<Plane>}
 */
export async function planeOf(vectors, before) {
  const pace = new Pace();
  // Whoever asks has worked in this task as well.
  await pace.rest();
  const size = vectors[0]?.length ?? 0;
  const mean = new Float64Array(size);
  for (const vector of vectors) {
    add(mean, vector, 1 / vectors.length);
    if (pace.isOver) await pace.rest();
  }
  let spread = 0;
  for (const vector of vectors) {
    spread += dot(vector, vector) - 2 * dot(vector, mean) + dot(mean, mean);
    if (pace.isOver) await pace.rest();
  }
  const first = await axisOf(vectors, mean, before?.axes[0] ?? beginning(size, 1), undefined, pace);
  const second = await axisOf(vectors, mean, before?.axes[1] ?? beginning(size, 2), first.axis, pace);
  const share = spread > 1e-12 ? Math.min((first.spread + second.spread) / spread, 1) : 1;
  const middle = /** @type {[number, number]} */ ([dot(mean, first.axis), dot(mean, second.axis)]);
  return { mean, axes: [first.axis, second.axis], middle, share };
}

/** Where a vector lies in the plane, from the mean. @param {Plane} plane @param {Float32Array} vector @returns {[number, number]} */
export function placeIn({ axes: [first, second], middle: [x, y] }, vector) {
  return [dot(vector, first) - x, dot(vector, second) - y];
}

/**
 * @param {readonly Float32Array[]} vectors @param {Float64Array} mean @param {Float64Array} start
 * @param {Float64Array | undefined} other At right angles to which it is. @param {Pace} pace
 */
async function axisOf(vectors, mean, start, other, pace) {
  let axis = unit(start, other);
  let spread = 0;
  for (let step = 0; step < STEPS; step++) {
    const middle = dot(mean, axis);
    const next = new Float64Array(axis.length);
    spread = 0;
    for (const vector of vectors) {
      const place = dot(vector, axis) - middle;
      spread += place * place;
      add(next, vector, place);
      if (pace.isOver) await pace.rest();
    }
    // The places add up to nothing, so the mean need not be taken from each vector; nothing is left to tell apart.
    if (spread < 1e-12) break;
    const turned = unit(next, other);
    const change = 1 - Math.abs(dot(turned, axis));
    axis = turned;
    if (change < STILL) break;
  }
  return { axis, spread };
}

/** Something that is no direction of its own. @param {number} size @param {number} seed */
const beginning = (size, seed) =>
  Float64Array.from({ length: size }, (_, place) => Math.sin(seed * (place + 1)));

/** The vector with length 1, and at right angles to `other`. @param {Float64Array} vector @param {Float64Array | undefined} other */
function unit(vector, other) {
  const result = Float64Array.from(vector);
  if (other !== undefined) add(result, other, -dot(result, other));
  const length = Math.sqrt(dot(result, result));
  return length > 0 ? result.map((value) => value / length) : result;
}

/** @param {Float64Array} sum @param {ArrayLike<number>} vector @param {number} factor */
function add(sum, vector, factor) {
  for (let place = 0; place < sum.length; place++)
    sum[place] = (sum[place] ?? 0) + factor * (vector[place] ?? 0);
}

/** @param {ArrayLike<number>} a @param {ArrayLike<number>} b */
export function dot(a, b) {
  let sum = 0;
  for (let place = 0; place < a.length; place++) sum += (a[place] ?? 0) * (b[place] ?? 0);
  return sum;
}
