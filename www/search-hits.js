// The passages that were found, each between what stands before and after it. Whatever a text holds is text, never markup.

import { element } from './elements.js';
import { dot, sourceOf } from './search-sources.js';

/** @typedef {import('./passages.js').Passage} Passage */
/** @typedef {import('./search-reading.js').Hit} Hit */

const list = element('hits', HTMLElement);
const picked = element('picked', HTMLElement);

/** Most letters that are shown of a neighbour. */
const AROUND = 140;

/** The entries that are shown. @type {Map<Passage, HTMLElement>} */
let shown = new Map();

/** @param {readonly Hit[]} hits @param {string} query */
export function showHits(hits, query) {
  shown = new Map();
  for (const hit of hits) {
    const entry = document.createElement('li');
    fill(entry, hit.passage, hit.score);
    if (hit === hits[0] && !sharesWords(hit.passage.text, query)) {
      entry.querySelector('.where')?.append(text('span', 'tag', 'no words in common'));
    }
    shown.set(hit.passage, entry);
  }
  list.replaceChildren(...shown.values());
  list.parentElement?.scrollTo(0, 0);
}

/** Shows a passage by itself, or leads to it where it is among those that were found. @param {Passage} passage */
export function showPassage(passage) {
  const found = shown.get(passage);
  const box = element('picked-passage', HTMLElement);
  picked.hidden = found !== undefined;
  if (found === undefined) fill(box, passage);
  const target = found ?? picked;
  target.tabIndex = -1;
  target.focus({ preventScroll: true });
  target.scrollIntoView({ block: 'nearest' });
}

export function hidePassage() {
  picked.hidden = true;
}

/** @param {Passage} passage @param {number} sentence Its nearest one. */
export function showBest(passage, sentence) {
  const entry = shown.get(passage);
  for (const [place, span] of [...(entry?.querySelectorAll('.sentence') ?? [])].entries()) {
    if (place !== sentence) continue;
    const mark = document.createElement('mark');
    mark.className = 'sentence best';
    mark.textContent = span.textContent;
    span.replaceWith(mark);
  }
}

/** @param {HTMLElement} entry @param {Passage} passage @param {number} [score] */
function fill(entry, passage, score) {
  const source = sourceOf(passage);
  entry.className = `hit colour-${source?.colour ?? 0}`;
  const where = document.createElement('p');
  where.className = 'where';
  const name = text('span', 'name', source?.name ?? '');
  name.dir = 'auto';
  where.append(dot(), name, text('span', 'quiet', placeOf(passage)));
  if (score !== undefined) {
    const number = text('span', 'score', score.toFixed(2));
    number.prepend(text('span', 'hidden', 'Score '));
    where.append(number);
  }
  const at = source?.passages.indexOf(passage) ?? -1;
  const [before, after] = [source?.passages[at - 1]?.text, source?.passages[at + 1]?.text];
  /** @type {HTMLElement[]} */
  const parts = [where];
  if (before !== undefined) parts.push(around(ending(before)));
  parts.push(whole(passage));
  if (after !== undefined) parts.push(around(beginning(after)));
  entry.replaceChildren(...parts);
}

/** @param {Passage} passage */
export const placeOf = ({ heading, line }) => `${heading === '' ? '' : `${heading}, `}line ${line}`;

/** The passage, sentence by sentence. @param {Passage} passage */
function whole({ text: all, sentences }) {
  const paragraph = document.createElement('p');
  paragraph.className = 'passage';
  paragraph.dir = 'auto';
  let end = 0;
  for (const range of sentences) {
    paragraph.append(all.slice(end, range[0]), text('span', 'sentence', all.slice(...range)));
    [, end] = range;
  }
  return paragraph;
}

/** @param {string} part */
function around(part) {
  const paragraph = text('p', 'around quiet', part);
  paragraph.dir = 'auto';
  return paragraph;
}

/** @param {string} passage */
const ending = (passage) =>
  passage.length > AROUND ? `… ${passage.slice(-AROUND).replace(/^\S*\s+/u, '')}` : passage;

/** @param {string} passage */
const beginning = (passage) =>
  passage.length > AROUND ? `${passage.slice(0, AROUND).replace(/\s+\S*$/u, '')} …` : passage;

/** @param {string} all */
const longWords = (all) => all.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu) ?? [];

/** Whether a word of more than three letters stands in both. @param {string} passage @param {string} query */
function sharesWords(passage, query) {
  const own = new Set(longWords(passage));
  return longWords(query).some((word) => own.has(word));
}

/** @param {'p' | 'span'} kind @param {string} name @param {string} content */
function text(kind, name, content) {
  const part = document.createElement(kind);
  part.className = name;
  part.textContent = content;
  return part;
}
