// How the chat answers: the system prompt and what is said of drawing tokens.

import { element } from './elements.js';

/** @typedef {import('../pkg/dist/index.js').PromptOptions} PromptOptions */

const system = element('system', HTMLTextAreaElement);

/** The fields by the option that they are. @type {readonly [keyof PromptOptions, HTMLInputElement][]} */
const FIELDS = [
  ['temperature', element('temperature', HTMLInputElement)],
  ['topK', element('top-k', HTMLInputElement)],
  ['topP', element('top-p', HTMLInputElement)],
  ['minP', element('min-p', HTMLInputElement)],
  ['repetitionPenalty', element('penalty', HTMLInputElement)],
  ['seed', element('seed', HTMLInputElement)],
  ['maxNewTokens', element('limit', HTMLInputElement)],
];

element('sampling', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault();
});

/** What the fields say; an empty one leaves it to the package, which also says what a value may be. @returns {PromptOptions} */
export function samplingWanted() {
  const said = FIELDS.filter(([, field]) => field.value !== '' || field.validity.badInput);
  return Object.fromEntries(said.map(([name, field]) => [name, field.valueAsNumber]));
}

/** What a conversation begins with. @returns {import('../pkg/dist/index.js').ChatMessage[]} */
export function initialPrompts() {
  const content = system.value.trim();
  return content === '' ? [] : [{ role: 'system', content }];
}

/** Calls back when another system prompt was written. @param {() => void} changed */
export function onSystemPrompt(changed) {
  system.addEventListener('change', changed);
}
