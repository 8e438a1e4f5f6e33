// Which words looked at which: pointing at a word, tapping it, or moving to it by keyboard lights up the words on the
// other side, by weight.

import { Marks } from './marks.js';
import { Words } from './words.js';

/** @typedef {import('./words.js').Word} Word */
/** @typedef {'source' | 'target'} Side */

/** Weights below this are not shown. */
const LEAST = 0.04;
/** Weights below this are not spoken. */
const LEAST_SPOKEN = 0.1;

/**
 * @typedef {object} Parts
 * @property {HTMLTextAreaElement} source The field that is typed into.
 * @property {HTMLElement} mirror The same text, laid out like the field's.
 * @property {HTMLElement} sourceMarks @property {HTMLElement} targetMarks
 * @property {HTMLElement} target @property {HTMLElement} voice What is spoken to those who do not see.
 */

export class Attention {
  #parts;
  #marks;
  /** What is shown; undefined while the source is newer than its translation. @type {(() => Words) | undefined} */
  #words;
  /** @type {{ side: Side, word: Word } | undefined} */
  #chosen;

  /** @param {Parts} parts */
  constructor(parts) {
    this.#parts = parts;
    this.#marks = {
      source: new Marks(parts.sourceMarks, parts.mirror),
      target: new Marks(parts.targetMarks, parts.target),
    };
    this.#follow('source', parts.source);
    this.#follow('target', parts.target);
    parts.target.addEventListener('keydown', (event) => {
      if (this.#key(event.key)) event.preventDefault();
    });
    // In the field the caret moves as always, and the word that it is in lights up.
    parts.source.addEventListener('keyup', ({ key }) => {
      if (/^(?:Arrow|Home|End)/u.test(key)) this.#caret();
    });
    for (const area of [parts.target, parts.source]) {
      area.addEventListener('blur', () => {
        this.clear();
      });
    }
    new ResizeObserver(() => {
      this.#paint();
    }).observe(parts.mirror);
  }

  /** A translation is shown. @param {string} source @param {import('../pkg/dist/index.js').Translation} translation */
  show(source, translation) {
    /** @type {Words | undefined} */
    let words;
    this.#words = () => (words ??= new Words(source, translation));
    this.clear();
  }

  /** What is shown does not belong to the source any more. */
  outdated() {
    this.#words = undefined;
    this.clear();
  }

  clear() {
    if (this.#chosen === undefined) return;
    this.#chosen = undefined;
    this.#marks.source.clear();
    this.#marks.target.clear();
    this.#parts.voice.textContent = '';
  }

  /** @param {Side} side @param {HTMLElement} area */
  #follow(side, area) {
    /** @type {MouseEvent | undefined} */
    let latest;
    const look = () => {
      if (latest === undefined) return;
      const { clientX, clientY } = latest;
      latest = undefined;
      const words = this.#words?.();
      if (words !== undefined) this.#choose(side, this.#marks[side].wordAt(words[side], clientX, clientY));
    };
    area.addEventListener('pointermove', (event) => {
      if (event.pointerType === 'touch') return;
      if (latest === undefined) requestAnimationFrame(look);
      latest = event;
    });
    area.addEventListener('pointerleave', (event) => {
      if (event.pointerType === 'touch') return;
      latest = undefined;
      this.clear();
    });
    // A tap; a finger that scrolls makes no click.
    area.addEventListener('click', (event) => {
      latest = event;
      look();
    });
  }

  /** @param {string} key @returns {boolean} Whether it meant anything. */
  #key(key) {
    const words = this.#words?.().target ?? [];
    if (words.length === 0) return false;
    const here = this.#chosen?.side === 'target' ? words.indexOf(this.#chosen.word) : -1;
    const places = /** @type {Record<string, number>} */ ({
      ArrowRight: Math.min(here + 1, words.length - 1),
      ArrowLeft: here < 0 ? words.length - 1 : Math.max(here - 1, 0),
      Home: 0,
      End: words.length - 1,
    });
    if (key === 'Escape' && here >= 0) {
      this.clear();
      return true;
    }
    const place = places[key];
    if (place === undefined) return false;
    this.#choose('target', words[place]);
    this.#speak();
    return true;
  }

  #caret() {
    const { selectionStart: start, selectionEnd: end } = this.#parts.source;
    const words = start === end ? this.#words?.().source : undefined;
    this.#choose(
      'source',
      words?.find(({ range }) => range[0] <= start && start < range[1]),
    );
  }

  /** @param {Side} side @param {Word | undefined} word */
  #choose(side, word) {
    if (word === this.#chosen?.word) return;
    this.clear();
    if (word === undefined) return;
    this.#chosen = { side, word };
    this.#paint();
  }

  #paint() {
    const words = this.#words?.();
    if (this.#chosen === undefined || words === undefined) return;
    const { side, word } = this.#chosen;
    this.#marks[side].paint([{ range: word.range, kind: 'chosen', weight: 1 }]);
    const lit = words.across(side, word).filter(({ weight }) => weight >= LEAST);
    this.#marks[side === 'source' ? 'target' : 'source'].paint(
      lit.map(({ word: { range }, weight }) => ({ range, kind: 'looked-at', weight })),
    );
  }

  #speak() {
    const words = this.#words?.();
    if (this.#chosen === undefined || words === undefined) return;
    const { word } = this.#chosen;
    const seen = words
      .across('target', word)
      .filter(({ weight }) => weight >= LEAST_SPOKEN)
      .slice(0, 3)
      .map((one) => `${textOf(this.#parts.mirror, one.word)} ${one.weight.toFixed(2)}`);
    const said = seen.length === 0 ? 'no word in particular' : seen.join(', ');
    this.#parts.voice.textContent = `${textOf(this.#parts.target, word)} looks at: ${said}`;
  }
}

/** @param {HTMLElement} element @param {Word} word */
function textOf({ textContent }, { range }) {
  return (textContent ?? '').slice(...range);
}
