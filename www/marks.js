// Boxes behind words of a text, and which word is at a point. The text itself is never touched, so nothing moves.

/** @typedef {import('./words.js').Word} Word */
/** @typedef {{ range: readonly [number, number], kind: 'chosen' | 'looked-at', weight: number }} Mark */

/** Pixels of a box beyond its word on either side. */
const ROOM = 2;

export class Marks {
  #layer;
  #text;

  /**
   * @param {HTMLElement} layer Lies behind the text, its corner on the text's.
   * @param {HTMLElement} text Has the text in it, laid out as it is read.
   */
  constructor(layer, text) {
    this.#layer = layer;
    this.#text = text;
  }

  /** @param {readonly Mark[]} marks */
  paint(marks) {
    const origin = this.#layer.getBoundingClientRect();
    const boxes = marks.flatMap(({ range, kind, weight }) =>
      this.#boxes(range).map((rect) => {
        const box = document.createElement('span');
        box.className = kind;
        box.dataset['weight'] = weight.toFixed(3);
        // The page's policy allows no style attributes in the markup; from here it does.
        box.style.setProperty('--weight', weight.toFixed(3));
        box.style.left = `${rect.left - origin.left - ROOM}px`;
        box.style.top = `${rect.top - origin.top}px`;
        box.style.width = `${rect.width + 2 * ROOM}px`;
        box.style.height = `${rect.height}px`;
        return box;
      }),
    );
    this.#layer.replaceChildren(...boxes);
  }

  clear() {
    this.#layer.replaceChildren();
  }

  /**
   * The word at a point of the window, found in a few steps however long the text is: lines come in order.
   * @param {readonly Word[]} words @param {number} x @param {number} y
   */
  wordAt(words, x, y) {
    let [low, high] = [0, words.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const last = this.#boxes(words[middle]?.range ?? [0, 0]).at(-1);
      if (last === undefined || last.bottom < y) low = middle + 1;
      else high = middle;
    }
    for (const word of words.slice(low)) {
      const boxes = this.#boxes(word.range);
      if ((boxes[0]?.top ?? Infinity) > y) return undefined;
      if (boxes.some((box) => box.left <= x && x <= box.right && box.top <= y && y <= box.bottom))
        return word;
    }
    return undefined;
  }

  /** @param {readonly [number, number]} range @returns {DOMRect[]} */
  #boxes([start, end]) {
    const range = document.createRange();
    const walker = document.createTreeWalker(this.#text, NodeFilter.SHOW_TEXT);
    let offset = 0;
    let begun = false;
    while (walker.nextNode()) {
      const node = /** @type {Text} */ (walker.currentNode);
      const behind = offset + node.length;
      if (!begun && start < behind) {
        range.setStart(node, start - offset);
        begun = true;
      }
      if (begun && end <= behind) {
        range.setEnd(node, end - offset);
        return [...range.getClientRects()].filter(({ width }) => width > 0);
      }
      offset = behind;
    }
    return [];
  }
}
