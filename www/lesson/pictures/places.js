// Positions: sinusoids that are added, a table that was learned, rotations of queries and keys.

import { choice, make, shown } from '../dom.js';
import { Matrix } from '../matrix.js';
import { dot } from '../numbers/arithmetic.js';
import { COSINES, TABLE } from '../numbers/learned.js';
import { frequencies, rotary, sinusoidal } from '../numbers/positions.js';

/** @typedef {import('../matrix.js').Content} Content */

/** Positions and dimensions that are shown. */
const [COUNT, WIDTH] = [32, 32];
/** The learned table's numbers are small: this is drawn as 1, in thousandths. */
const FULL = 120;

const ones = Array.from({ length: WIDTH }, () => 1);

/** Of two sinusoidal positions, both of length √(d/2). @param {number} a @param {number} b */
const sinusoidalCosine = (a, b) => dot(sinusoidal(a, WIDTH), sinusoidal(b, WIDTH)) / (WIDTH / 2);

/** Of the same vector, of ones, at two positions. @param {number} a @param {number} b */
const rotaryCosine = (a, b) => dot(rotary(ones, a), rotary(ones, b)) / WIDTH;

/** @param {number} [columns] */
const signed = (columns = WIDTH) => ({ rows: COUNT, columns, signed: true });

/** The numbers of each kind, and how alike two positions are. @type {Record<'sinusoidal' | 'learned' | 'rotary', { numbers: Content, alike: Content, note: string }>} */
const KINDS = {
  sinusoidal: {
    numbers: {
      ...signed(),
      value: (position, dimension) => sinusoidal(position, WIDTH)[dimension] ?? 0,
      tell: (position, dimension) =>
        `Position ${position}, dimension ${dimension}: ${dimension % 2 === 0 ? 'sine' : 'cosine'} of ${shown(position * (frequencies(WIDTH)[dimension >> 1] ?? 0), 3)} is ${shown(sinusoidal(position, WIDTH)[dimension] ?? 0, 3)}.`,
    },
    alike: {
      ...signed(COUNT),
      value: sinusoidalCosine,
      tell: (a, b) => `Positions ${a} and ${b}: cosine ${shown(sinusoidalCosine(a, b), 3)}.`,
    },
    note: 'Added to the words’ vectors. Fast waves on the left, slow ones on the right.',
  },
  learned: {
    numbers: {
      ...signed(),
      value: (position, dimension) => (TABLE[position]?.[dimension] ?? 0) / FULL,
      tell: (position, dimension) =>
        `Position ${position}, dimension ${dimension}: ${shown((TABLE[position]?.[dimension] ?? 0) / 1000, 3)}.`,
    },
    alike: {
      ...signed(COUNT),
      value: (a, b) => (COSINES[a]?.[b] ?? 0) / 100,
      tell: (a, b) => `Positions ${a} and ${b}: cosine ${shown((COSINES[a]?.[b] ?? 0) / 100, 2)}.`,
    },
    note: 'The first 32 of 512 positions of all-MiniLM-L6-v2, the model of the Search tab; 32 of its 384 dimensions on the left, all of them in the cosines.',
  },
  rotary: {
    numbers: {
      ...signed(),
      value: (position, dimension) => (rotary(ones, position)[dimension] ?? 0) / Math.SQRT2,
      tell: (position, dimension) =>
        `Position ${position}, dimension ${dimension}: 1 has become ${shown(rotary(ones, position)[dimension] ?? 0, 3)}; its pair is turned by ${shown(position * (frequencies(WIDTH)[dimension >> 1] ?? 0), 3)} radians.`,
    },
    alike: {
      ...signed(COUNT),
      value: rotaryCosine,
      tell: (a, b) =>
        `Positions ${a} and ${b}: q·k is ${shown(rotaryCosine(a, b), 3)} of what it is at the same place.`,
    },
    note: 'A vector of ones, as a query or key at each position. Words’ vectors stay as they are; queries and keys are turned.',
  },
};

/** @param {HTMLElement} stage */
export function places(stage) {
  const numbers = new Matrix(
    'The numbers: a row a position, a column a dimension',
    'A row a position, a column a dimension.',
  );
  const alike = new Matrix(
    'How alike two positions are',
    'How alike two positions are: a row one, a column the other.',
  );
  const note = make('p', { class: 'quiet' });
  const show = (/** @type {keyof typeof KINDS} */ kind) => {
    const one = KINDS[kind];
    numbers.show(one.numbers);
    alike.show(one.alike);
    note.textContent = one.note;
  };
  stage.append(
    choice(
      'Positions',
      [
        ['sinusoidal', 'Sinusoidal'],
        ['learned', 'Learned'],
        ['rotary', 'Rotary'],
      ],
      show,
    ),
    make('div', { class: 'beside' }, numbers.element, alike.element),
    note,
  );
  show('sinusoidal');
}
