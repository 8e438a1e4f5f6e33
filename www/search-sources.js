// The texts that are searched: where they come from, their passages, and the list of them.

import { element } from './elements.js';
import { passagesOf } from './passages.js';

/** @typedef {import('./passages.js').Passage} Passage */
/**
 * @typedef {object} Source
 * @property {string} name
 * @property {Passage[]} passages In the order of the text.
 * @property {number} colour Of those that the page has: 0 to {@link COLOURS} - 1.
 * @property {'examples' | 'docs' | undefined} kind Of the page's own.
 */
/** @typedef {{ name: string, text: string, kind?: Source['kind'] }} Given */

const COLOURS = 8;
/** Longest text, in bytes. Its passages would take minutes to read. */
const LONGEST = 5_000_000;

const list = element('texts', HTMLElement);
/** That there are none. */
const none = [...list.children];

/** @type {Source[]} */
let sources = [];

export const allSources = () => sources;

export const allPassages = () => sources.flatMap(({ passages }) => passages);

/** @param {Passage} passage @returns {Source | undefined} */
export const sourceOf = (passage) => sources.find(({ passages }) => passages.includes(passage));

/** Adds a text. One of the same name is replaced. @param {Given} given */
export async function addSource({ name, text, kind }) {
  const passages = await passagesOf(name, text);
  if (passages.length === 0) throw new Error(`${name}: there is no text in it. Choose another one.`);
  const before = sources.find((source) => source.name === name);
  const source = { name, passages, colour: before?.colour ?? freeColour(), kind };
  sources =
    before === undefined ? [...sources, source] : sources.map((one) => (one === before ? source : one));
}

function freeColour() {
  const used = new Set(sources.map(({ colour }) => colour));
  for (let colour = 0; colour < COLOURS; colour++) if (!used.has(colour)) return colour;
  return sources.length % COLOURS;
}

/** A name that no text has yet. @param {string} name */
export function nameFor(name) {
  const taken = new Set(sources.map((source) => source.name));
  let number = 2;
  if (!taken.has(name)) return name;
  while (taken.has(`${name} ${number}`)) number++;
  return `${name} ${number}`;
}

/** @param {File} file @returns {Promise<Given>} */
export async function fromDisk(file) {
  const { name, size } = file;
  if (size > LONGEST) {
    throw new Error(`${name}: it has ${size} bytes, and ${LONGEST} are the most. Cut it into several files.`);
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer());
    if (!text.includes('\0')) return { name, text };
  } catch (thrown) {
    if (!(thrown instanceof TypeError)) throw thrown;
  }
  throw new Error(`${name}: this is no text in UTF-8. Choose a text or Markdown file, or paste the text.`);
}

/** One of the page's own. @param {string} address From the page's. @returns {Promise<Given>} */
export async function fromPage(address) {
  const response = await fetch(new URL(address, document.baseURI));
  if (!response.ok) {
    throw new Error(
      `${response.url}: ${response.status}. The page is served without this text; open another one.`,
    );
  }
  return { name: address.replace(/^docs\//, ''), text: await response.text(), kind: 'docs' };
}

/** Shows them, each with its removal. @param {() => void} removed Is called after one was removed. */
export function showSources(removed) {
  const items = sources.map((source) => {
    const item = document.createElement('li');
    item.className = `colour-${source.colour}`;
    const name = document.createElement('span');
    name.className = 'name';
    name.dir = 'auto';
    name.textContent = source.name;
    const count = document.createElement('span');
    count.className = 'quiet count';
    count.textContent = passages(source.passages.length);
    const remove = document.createElement('button');
    remove.type = 'button';
    remove.className = 'remove';
    remove.setAttribute('aria-label', `Remove ${source.name}`);
    remove.textContent = '×';
    remove.addEventListener('click', () => {
      sources = sources.filter((one) => one !== source);
      removed();
    });
    item.append(dot(), name, count, remove);
    return item;
  });
  list.replaceChildren(...(items.length > 0 ? items : none));
}

/** The colour of a text; its class says which. */
export function dot() {
  const spot = document.createElement('span');
  spot.className = 'dot';
  spot.ariaHidden = 'true';
  return spot;
}

/** @param {number} count */
export const passages = (count) => (count === 1 ? '1 passage' : `${count.toLocaleString('en')} passages`);
