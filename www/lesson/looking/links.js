// Two rows of tokens, and lines from those that look to those that are looked at.

import { draw, make, weigh } from '../dom.js';
import { lookedAt, nameOf, rowOf } from '../numbers/attention.js';

/** @typedef {import('../numbers/attention.js').AttentionWeights} AttentionWeights */

/** Weights below this have no line. */
const LEAST = 0.08;

/** Lines between tokens: the keys above, the queries below; both in reading order. */
export class Links {
  element = make('div', { class: 'links', dir: 'ltr' });
  #keys = make('div', { class: 'tokens keys', role: 'group', 'aria-label': 'Tokens that are looked at' });
  #queries = make('div', { class: 'tokens queries', role: 'group', 'aria-label': 'Tokens that look' });
  #lines = draw('svg', { 'aria-hidden': 'true' });
  #chosen;
  /** @type {{ head: Float32Array, keyLen: number, query: number | undefined, upTo: number } | undefined} */
  #shown;

  /** @param {(query: number | undefined) => void} chosen A token that looks was pointed at, or none any more. */
  constructor(chosen) {
    this.#chosen = chosen;
    this.element.append(this.#keys, this.#lines, this.#queries);
    new ResizeObserver(() => {
      this.#draw();
    }).observe(this.element);
  }

  /** @param {AttentionWeights} attention */
  tokens({ queryTokens, keyTokens }) {
    this.#keys.replaceChildren(...keyTokens.map((token) => make('span', { dir: 'auto' }, nameOf(token))));
    this.#queries.replaceChildren(
      ...queryTokens.map((token, query) => {
        const button = make('button', { type: 'button', dir: 'auto' }, nameOf(token));
        for (const event of ['pointerenter', 'focus', 'click']) {
          button.addEventListener(event, () => {
            this.#chosen(query);
          });
        }
        button.addEventListener('pointerleave', () => {
          if (document.activeElement !== button) this.#chosen(undefined);
        });
        button.addEventListener('blur', () => {
          this.#chosen(undefined);
        });
        return button;
      }),
    );
  }

  /** Shows nothing, and lets go of the weights. */
  clear() {
    this.#shown = undefined;
    for (const part of [this.#keys, this.#queries, this.#lines]) part.replaceChildren();
  }

  /**
   * @param {Float32Array} head @param {number} keyLen @param {number | undefined} query The one whose lines are shown; else those of all.
   * @param {number} upTo The last query that is there yet.
   */
  show(head, keyLen, query, upTo) {
    this.#shown = { head, keyLen, query, upTo };
    const weights = query === undefined ? undefined : rowOf(head, query, keyLen);
    for (const [key, token] of [...this.#keys.children].entries()) {
      if (token instanceof HTMLElement) weigh(token, weights?.[key] ?? 0);
    }
    for (const [place, token] of [...this.#queries.children].entries()) {
      token.classList.toggle('lit', place === query);
      if (token instanceof HTMLElement) token.style.visibility = place > upTo ? 'hidden' : '';
    }
    this.#draw();
  }

  #draw() {
    if (this.#shown === undefined) return;
    const { head, keyLen, query, upTo } = this.#shown;
    const { left, top, width, height } = this.#lines.getBoundingClientRect();
    if (width === 0) return;
    this.#lines.setAttribute('viewBox', `0 0 ${width} ${height}`);
    const middle = (/** @type {Element | undefined} */ token) => {
      const box = token?.getBoundingClientRect();
      return box === undefined
        ? undefined
        : { x: box.left + box.width / 2 - left, above: box.bottom - top, below: box.top - top };
    };
    const keys = [...this.#keys.children].map(middle);
    const lines = [...this.#queries.children].flatMap((token, place) => {
      if (place > upTo || (query !== undefined && query !== place)) return [];
      const from = middle(token);
      return lookedAt(rowOf(head, place, keyLen), LEAST).flatMap(({ key, weight }) => {
        const to = keys[key];
        if (from === undefined || to === undefined) return [];
        return weigh(draw('path', { d: `M${from.x} ${from.below}L${to.x} ${to.above}` }), weight);
      });
    });
    this.#lines.replaceChildren(...lines);
  }
}
