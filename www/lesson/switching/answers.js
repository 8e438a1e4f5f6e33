// Two answers beside each other: with all heads, and without one of them.

import { make, shown, table } from '../dom.js';
import { differing } from '../numbers/differing.js';

/** @typedef {import('./models.js').Answer} Answer */
/** @typedef {import('./models.js').Switchable} Switchable */

/** An answer; what the other one has not is lit. @param {string} separator @param {Answer} own @param {Answer} other */
function answerOf(separator, { said }, other) {
  if (said === '') return make('td', { class: 'answer' }, '(nothing)');
  const parts = differing(other.said.split(separator), said.split(separator));
  const marked = parts.flatMap(({ part, isNew }, place) => [
    place > 0 ? separator : '',
    isNew ? make('mark', {}, part) : part,
  ]);
  return make('td', { class: 'answer' }, ...marked);
}

/**
 * @param {Switchable} model @param {Answer} whole
 * @param {{ name: string, answer: Answer } | undefined} without The head that is off, if one is.
 */
export function compared({ separator }, whole, without) {
  const rows = [
    ['All heads on', answerOf(separator, whole, without?.answer ?? whole), shown(whole.probability, 5)],
  ];
  if (without !== undefined) {
    const { name, answer } = without;
    rows.push([`Off: ${name}`, answerOf(separator, answer, whole), shown(answer.probability, 5)]);
  }
  return [
    make(
      'div',
      { class: 'wide' },
      table('The answer with the head and without it', ['', 'Answer', 'Probability'], rows),
    ),
    make('p', { class: 'sum' }, verdict(whole, without?.answer)),
  ];
}

/** @param {Answer} whole @param {Answer | undefined} without */
function verdict(whole, without) {
  if (without === undefined) return 'Choose a head above to switch it off.';
  return whole.said === without.said
    ? 'The answer stays: for this text the other heads have all that it needs.'
    : 'The answer changes: what this head brought, the others do not bring.';
}
