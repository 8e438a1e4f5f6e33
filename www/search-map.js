// The map: a point a passage, where the plane in which the vectors differ most has it.

import { element } from './elements.js';
import { Pace } from './pace.js';
import { placeIn, planeOf } from './principal.js';
import { placeOf } from './search-hits.js';
import { allSources } from './search-sources.js';

/** @typedef {import('./passages.js').Passage} Passage */
/** @typedef {import('./principal.js').Plane} Plane */
/** @typedef {{ passage: Passage, colour: number, x: number, y: number }} Point */

const SVG = 'http://www.w3.org/2000/svg';
/** The size of the drawing in its own units, and what stays empty along its edge. */
const [WIDTH, HEIGHT, EDGE] = [360, 270, 14];
/** How near to a point counts as pointing at it, in the same units. */
const NEAR = 16;

const map = element('map', HTMLElement);
const drawing = /** @type {SVGSVGElement} */ (/** @type {unknown} */ (map.querySelector('svg')));
const caption = element('map-caption', HTMLElement);
const share = element('map-share', HTMLElement);
const [ring, dots, cross, pointed] = ['ring', 'dots', 'cross', 'pointed'].map((name) => {
  const group = document.createElementNS(SVG, 'g');
  group.classList.add(name);
  drawing.append(group);
  return group;
});
const legend = caption.textContent;
const noShare = share.textContent;

/** @type {Plane | undefined} */
let plane;
/** @type {Point[]} */
let points = [];
/** From the plane to the drawing. */
let scale = { factor: 1, x: 0, y: 0 };
/** @type {Float32Array | undefined} */
let query;
/** @type {readonly Passage[]} */
let hits = [];
/** The passage that is pointed at. @type {Point | undefined} */
let at;
/** Counts the drawings: only the newest goes on. */
let newest = 0;

/** Draws all passages that have a vector. */
export async function drawMap() {
  const own = ++newest;
  const read = allSources().flatMap(({ passages, colour }) =>
    passages.flatMap((passage) =>
      passage.vector === undefined ? [] : [{ passage, colour, vector: passage.vector }],
    ),
  );
  if (read.length === 0) {
    plane = undefined;
    points = [];
    share.textContent = noShare;
    pointAt(undefined);
    show();
    return;
  }
  const found = await planeOf(
    read.map(({ vector }) => vector),
    plane,
  );
  const pace = new Pace();
  await pace.rest();
  /** @type {[number, number][]} */
  const places = [];
  for (const { vector } of read) {
    places.push(placeIn(found, vector));
    if (pace.isOver) await pace.rest();
  }
  await pace.rest();
  if (own !== newest) return;
  plane = found;
  fit(places);
  points = read.map(({ passage, colour }, place) => ({ passage, colour, ...drawn(places[place] ?? [0, 0]) }));
  share.textContent = `The two directions in which the passages differ most: ${Math.round(found.share * 100)} % of all differences.`;
  at = points.find(({ passage }) => passage === at?.passage);
  show();
}

/** Where a query is, and what is nearest to it. @param {Float32Array | undefined} vector @param {readonly Passage[]} nearest */
export function showQuery(vector, nearest) {
  query = vector;
  hits = nearest;
  markQuery();
}

/** All places within the drawing, as large as they fit. @param {readonly [number, number][]} places */
function fit(places) {
  const [left, right] = ends(places.map(([x]) => x));
  const [top, bottom] = ends(places.map(([, y]) => y));
  const wide = (WIDTH - 2 * EDGE) / Math.max(right - left, 1e-6);
  const factor = Math.min(wide, (HEIGHT - 2 * EDGE) / Math.max(bottom - top, 1e-6));
  scale = {
    factor,
    x: WIDTH / 2 - (factor * (left + right)) / 2,
    y: HEIGHT / 2 - (factor * (top + bottom)) / 2,
  };
}

/** @param {readonly number[]} values @returns {[number, number]} */
function ends(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  return [low, high];
}

/** @param {number} value @param {number} size */
const inside = (value, size) => Math.round(Math.min(Math.max(value, EDGE / 2), size - EDGE / 2) * 10) / 10;

/** @param {[number, number]} place In the plane; what is farther away than all passages is drawn at the edge. */
function drawn([x, y]) {
  return { x: inside(scale.x + scale.factor * x, WIDTH), y: inside(scale.y + scale.factor * y, HEIGHT) };
}

function show() {
  // One path a colour, each of its points a line without a length: two thousand elements would take their time.
  const colours = [...new Set(points.map(({ colour }) => colour))];
  dots?.replaceChildren(
    ...colours.map((colour) => {
      const path = pathOf(spots(points.filter((point) => point.colour === colour)));
      path.classList.add(`colour-${colour}`);
      return path;
    }),
  );
  markQuery();
  pointAt(at);
}

/** Draws the query and the rings of what is nearest to it. */
function markQuery() {
  ring?.replaceChildren(pathOf(spots(points.filter(({ passage }) => hits.includes(passage)))));
  const { x, y } =
    query === undefined || plane === undefined ? { x: NaN, y: NaN } : drawn(placeIn(plane, query));
  const lines = `M${x - 7} ${y}h14M${x} ${y - 7}v14`;
  cross?.replaceChildren(...(Number.isNaN(x) ? [] : [pathOf(lines), pathOf(lines)]));
}

/** @param {string} lines */
function pathOf(lines) {
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute('d', lines);
  return path;
}

/** @param {readonly Point[]} some */
const spots = (some) => some.map(({ x, y }) => `M${x} ${y}h0`).join('');

/** Says which passage is there. @param {Point | undefined} one */
function pointAt(one) {
  at = one;
  pointed?.replaceChildren(...(one === undefined ? [] : [pathOf(spots([one])), pathOf(spots([one]))]));
  pointed?.lastElementChild?.classList.add(`colour-${one?.colour ?? 0}`);
  if (one === undefined) {
    caption.textContent = legend;
    return;
  }
  const { passage } = one;
  const name = allSources().find(({ passages }) => passages.includes(passage))?.name ?? '';
  const words = document.createElement('span');
  words.dir = 'auto';
  words.textContent = passage.text;
  const where = document.createElement('strong');
  where.dir = 'auto';
  where.textContent = `${name}, ${placeOf(passage)}`;
  caption.replaceChildren(where, ' ', words);
}

/** The nearest point to where the pointer is. @param {PointerEvent | MouseEvent} event */
function under({ clientX, clientY }) {
  const { left, top, width } = drawing.getBoundingClientRect();
  const unit = WIDTH / width;
  const [x, y] = [(clientX - left) * unit, (clientY - top) * unit];
  let [best, distance] = [/** @type {Point | undefined} */ (undefined), NEAR];
  for (const one of points) {
    const far = Math.hypot(one.x - x, one.y - y);
    if (far < distance) [best, distance] = [one, far];
  }
  return best;
}

/** The next point in a direction: rather straight ahead than near. @param {number} right @param {number} down */
function next(right, down) {
  const from = at;
  if (from === undefined) return first();
  let [best, distance] = [from, Infinity];
  for (const one of points) {
    const [x, y] = [one.x - from.x, one.y - from.y];
    const [ahead, aside] = [x * right + y * down, Math.abs(x * down) + Math.abs(y * right)];
    const far = ahead + 2 * aside;
    if (ahead > 0 && aside <= 2 * ahead && far < distance) [best, distance] = [one, far];
  }
  return best;
}

/** What is nearest to the query, else any. */
const first = () => points.find(({ passage }) => passage === hits[0]) ?? points[0];

/** Calls back when a passage was chosen. @param {(passage: Passage) => void} chosen */
export function onMapChoice(chosen) {
  drawing.addEventListener('click', (event) => {
    const one = under(event);
    pointAt(one);
    if (one !== undefined) chosen(one.passage);
  });
  drawing.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if ((event.key === 'Enter' || event.key === ' ') && at !== undefined) {
      event.preventDefault();
      chosen(at.passage);
      return;
    }
    const target = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (event.key in target) {
      const [right = 0, down = 0] = target[/** @type {keyof typeof target} */ (event.key)];
      pointAt(next(right, down));
    } else if (event.key === 'Home') pointAt(first());
    else if (event.key === 'Escape') pointAt(undefined);
    else return;
    event.preventDefault();
  });
}

drawing.addEventListener('pointermove', (event) => {
  if (event.pointerType !== 'touch') pointAt(under(event));
});
drawing.addEventListener('pointerleave', () => {
  if (document.activeElement !== drawing) pointAt(undefined);
});
drawing.addEventListener('focus', () => {
  if (drawing.matches(':focus-visible')) pointAt(at ?? first());
});
drawing.addEventListener('blur', () => {
  pointAt(undefined);
});
