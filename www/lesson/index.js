// The lesson: its text, and what fills its figures.

import { fetched } from './fetched.js';
import { looking } from './looking/looking.js';
import { bottleneck } from './pictures/bottleneck.js';
import { families } from './pictures/families.js';
import { growth } from './pictures/growth.js';
import { heads } from './pictures/heads.js';
import { masks } from './pictures/masks.js';
import { measuring } from './pictures/measuring.js';
import { places } from './pictures/places.js';
import { reversing } from './pictures/reversing.js';
import { saturating } from './pictures/saturating.js';
import { scores } from './pictures/scores.js';
import { swapping } from './pictures/swapping.js';
import { turning } from './pictures/turning.js';
import { switching } from './switching/switching.js';

/** By the name that the text has for them. @type {Readonly<Record<string, (stage: HTMLElement) => void | Promise<void>>>} */
const PICTURES = {
  bottleneck,
  reversing,
  scores,
  saturating,
  heads,
  masks,
  swapping,
  places,
  turning,
  growth,
  measuring,
  families,
  looking,
  switching,
};

/**
 * Puts the lesson into the page.
 * @param {HTMLElement} panel
 * @throws {Error} If its text or its style sheet does not come.
 */
export async function openLesson(panel) {
  const [text] = await Promise.all([textOf('lesson.html'), styled('lesson.css')]);
  const { body } = new DOMParser().parseFromString(text, 'text/html');
  // All are filled before any is shown: nothing jumps.
  for (const figure of body.querySelectorAll('figure')) {
    const stage = document.createElement('div');
    stage.className = 'stage';
    figure.prepend(stage);
    await PICTURES[figure.dataset['picture'] ?? '']?.(stage);
  }
  panel.replaceChildren(...body.children);
  // An address within the lesson: it was not there when the browser looked for it.
  document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

/** @param {string} name */
async function textOf(name) {
  return (await fetched(new URL(name, import.meta.url))).text();
}

/** @param {string} name Of a style sheet. @returns {Promise<void>} */
function styled(name) {
  return new Promise((resolve, reject) => {
    const link = document.createElement('link');
    link.rel = 'stylesheet';
    link.href = new URL(name, import.meta.url).href;
    link.addEventListener('load', () => {
      resolve();
    });
    link.addEventListener('error', () => {
      reject(new Error(`${name} could not be fetched; load the page again`));
    });
    document.head.append(link);
  });
}
