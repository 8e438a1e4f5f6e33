// In the place of the page's models to look into: one whose weights are known by hand. Served as
// /lesson/looking/tasks.js.

/** @param {string} text */
const tokens = (text) => text.split(' ').map((word, id) => ({ id, text: word, range: [0, 0] }));

/** Two layers of two heads, two queries, three keys. */
const cross = {
  weights: Float32Array.from(
    [
      [1, 0, 0, 0, 1, 0],
      [0.5, 0.5, 0, 0.25, 0.25, 0.5],
      [0, 0, 1, 0, 1, 0],
      [0.75, 0.25, 0, 0, 0.25, 0.75],
    ].flat(),
  ),
  layers: [0, 1],
  heads: [0, 1],
  queryLen: 2,
  keyLen: 3,
  queryTokens: tokens('casa </s>'),
  keyTokens: tokens('red house </s>'),
};

const encoder = {
  weights: Float32Array.from([0, 1, 0, 0, 0, 1, 0.5, 0, 0.5]),
  layers: [0],
  heads: [0],
  queryLen: 3,
  keyLen: 3,
  queryTokens: tokens('red house </s>'),
  keyTokens: tokens('red house </s>'),
};

export const TASKS = [
  {
    id: 'told',
    name: 'Told',
    model: 'told',
    example: 'red house',
    guided: true,
    note: 'Known by hand.',
    positions: { cross: 'told' },
  },
  { id: 'listed', name: 'Listed', model: 'en-pt', example: 'x', note: 'It is in the index.', positions: {} },
  { id: 'broken', name: 'Broken', model: 'broken', example: 'x', note: 'Fails.', positions: {} },
];

/** Weights of its own each time, whose end can be seen. */
async function look() {
  const weights = cross.weights.slice();
  globalThis.looked = new WeakRef(weights);
  return { said: 'casa', attention: { encoder, cross: { ...cross, weights } } };
}

/** @param {{ id: string }} task */
export async function modelOf(task) {
  if (task.id === 'broken') throw new Error('There is no such model');
  const info = { device: 'cpu', deviceReason: '', precision: 'float32' };
  return { info, look };
}

export function giveUp() {
  // There is nothing to free.
}
