// The conversation as it is shown. Whatever a model writes is text, never markup.

import { element } from './elements.js';

const scroll = element('scroll', HTMLElement);
const list = element('messages', HTMLElement);
const welcome = element('welcome', HTMLElement);

/** How far from its end the list may be to be kept there, in pixels. */
const NEAR = 48;

const isAtEnd = () => scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < NEAR;

const toEnd = () => {
  scroll.scrollTop = scroll.scrollHeight;
};

/** @param {string} kind @param {string} who */
function item(kind, who) {
  const entry = document.createElement('li');
  entry.className = `message ${kind}`;
  const speaker = document.createElement('span');
  speaker.className = 'hidden';
  speaker.textContent = `${who}: `;
  const said = document.createElement('div');
  said.className = 'said';
  said.dir = 'auto';
  entry.append(speaker, said);
  list.append(entry);
  welcome.hidden = true;
  return { entry, said };
}

/** Shows what the visitor says and an answer that comes yet. @param {string} question */
export function exchange(question) {
  const asked = item('user', 'You');
  asked.said.textContent = question;
  const { entry, said } = item('model', 'Model');
  const text = document.createTextNode('');
  said.append(text);
  said.setAttribute('aria-busy', 'true');
  toEnd();
  return {
    /** @param {string} piece */
    add(piece) {
      const follow = isAtEnd();
      text.appendData(piece);
      if (follow) toEnd();
    },
    text: () => text.data,
    /** @param {string} figures */
    end(figures) {
      const follow = isAtEnd();
      said.setAttribute('aria-busy', 'false');
      const line = document.createElement('p');
      line.className = 'figures quiet';
      line.textContent = figures;
      entry.append(line);
      if (follow) toEnd();
    },
    /** It did not come to an answer. */
    remove() {
      asked.entry.remove();
      entry.remove();
      welcome.hidden = list.childElementCount > 0;
    },
    /** Says something before the answer. @param {string} what */
    notice(what) {
      const line = document.createElement('li');
      line.className = 'notice quiet';
      line.textContent = what;
      asked.entry.before(line);
      toEnd();
    },
  };
}

export const isEmpty = () => list.childElementCount === 0;

export function clearMessages() {
  list.replaceChildren();
  welcome.hidden = false;
}
