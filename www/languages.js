// The pair of languages: what the models offer, what is chosen, what the address says.

import { models } from '../pkg/dist/index.js';
import { element } from './elements.js';
import { addressOfTranslation } from './tabs.js';

/** @typedef {import('../pkg/dist/index.js').ModelInfo} ModelInfo */

const from = element('from', HTMLSelectElement);
const to = element('to', HTMLSelectElement);
const swap = element('swap', HTMLButtonElement);

const names = new Intl.DisplayNames(['en'], { type: 'language' });

/** @type {ModelInfo[]} */
let pairs = [];

/** Asks for the models, once. */
export async function openIndex() {
  if (pairs.length > 0) return;
  const all = await models.list();
  pairs = all.filter(({ tasks }) => tasks.includes('translation'));
  if (pairs.length === 0) {
    throw new Error('The model index has no translation model. Run: cargo xtask models');
  }
  const [wantedFrom, wantedTo] = location.hash.slice(1).split('-');
  fill(from, new Set(pairs.map((pair) => pair.from ?? '')), wantedFrom);
  fillTargets(wantedTo);
}

/** The model of the chosen pair. */
export function chosenPair() {
  return pairs.find((pair) => pair.from === from.value && pair.to === to.value);
}

/** @param {ModelInfo} pair */
export const nameOf = (pair) => `${names.of(pair.from ?? '')} to ${names.of(pair.to ?? '')}`;

/** Calls back when another pair was chosen. @param {() => void} changed @param {() => void} swapped */
export function onChoice(changed, swapped) {
  from.addEventListener('change', () => {
    fillTargets(undefined);
    changed();
  });
  to.addEventListener('change', () => {
    fillTargets(to.value);
    changed();
  });
  swap.addEventListener('click', () => {
    const before = from.value;
    from.value = to.value;
    fillTargets(before);
    swapped();
  });
}

/** @param {HTMLSelectElement} select @param {Iterable<string>} tags @param {string | undefined} wanted */
function fill(select, tags, wanted) {
  const options = [...tags].map((tag) => new Option(names.of(tag), tag, false, tag === wanted));
  select.replaceChildren(...options);
  select.disabled = options.length < 2;
}

/** @param {string | undefined} wanted */
function fillTargets(wanted) {
  const targets = pairs.filter((pair) => pair.from === from.value).map((pair) => pair.to ?? '');
  fill(to, new Set(targets), wanted);
  element('source', HTMLTextAreaElement).lang = from.value;
  element('mirror', HTMLElement).lang = from.value;
  element('target', HTMLOutputElement).lang = to.value;
  swap.disabled = !pairs.some((pair) => pair.from === to.value && pair.to === from.value);
  addressOfTranslation(`#${from.value}-${to.value}`);
}
