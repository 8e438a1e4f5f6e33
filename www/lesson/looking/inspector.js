// What a model has looked at: its heads, one of them large, lines between tokens, a step at a time, and files of it.

import { choice, make, shown, slider } from '../dom.js';
import { Matrix } from '../matrix.js';
import { figuresOf, headOf, nameOf } from '../numbers/attention.js';
import { headsGrid, pressHead } from './heads-grid.js';
import { Links } from './links.js';
import { saveNumbers, savePicture } from './save.js';

/** @typedef {import('../numbers/attention.js').AttentionWeights} AttentionWeights */
/** @typedef {import('./save.js').Kind} Kind */
/** @typedef {import('./tasks.js').Task} Task */
/** @typedef {import('./tasks.js').Seen} Seen */

/** @type {Readonly<Record<Kind, string>>} */
const KINDS = {
  encoder: 'Encoder: self-attention',
  decoder: 'Decoder: self-attention',
  cross: 'Cross-attention',
};

/** Who sees whom. @type {Readonly<Record<Kind, string>>} */
const MASKS = {
  encoder: 'none, every token sees every token',
  decoder: 'causal, a token sees itself and those before it',
  cross: 'none, every step sees the whole source',
};

export class Inspector {
  element = make('div', { class: 'inspector' });
  #matrix = new Matrix(
    'Weights of the head: a row a token that looks',
    'Point at a cell: a row looks, a column is looked at.',
    (cell) => {
      this.#light(cell?.[0]);
    },
  );
  #links = new Links((query) => {
    this.#matrix.point(undefined);
    this.#light(query);
  });
  #title = make('p', { class: 'sum', 'aria-live': 'polite' });
  #facts = make('p', { class: 'quiet' });
  /** @type {{ task: Task, text: string, seen: Seen, kind: Kind, attention: AttentionWeights, layer: number, head: number, step: number } | undefined} */
  #state;
  /** Paints the small pictures of the heads again. @type {(() => void) | undefined} */
  #repaint;

  constructor() {
    // Colours change with the device's.
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      this.#repaint?.();
    });
  }

  /** Shows nothing, and lets go of the weights: they may be tens of megabytes. */
  clear() {
    [this.#state, this.#repaint] = [undefined, undefined];
    this.#matrix.clear();
    this.#links.clear();
    // What stays would hold all that it was put beside.
    for (const kept of [this.#title, this.#facts, this.#links.element, this.#matrix.element]) kept.remove();
    this.element.replaceChildren();
  }

  /** @param {Task} task @param {string} text @param {Seen} seen */
  show(task, text, seen) {
    const kinds = /** @type {Kind[]} */ (['cross', 'decoder', 'encoder']).filter(
      (kind) => seen.attention[kind] !== undefined,
    );
    const body = make('div', { class: 'inspected' });
    const chooser = choice(
      'Attention',
      kinds.map((kind) => /** @type {const} */ ([kind, KINDS[kind]])),
      (kind) => {
        this.#choose(body, task, text, seen, kind);
      },
    );
    this.element.replaceChildren(chooser, body);
    const [first] = kinds;
    if (first !== undefined) this.#choose(body, task, text, seen, first);
  }

  /** @param {HTMLElement} body @param {Task} task @param {string} text @param {Seen} seen @param {Kind} kind */
  #choose(body, task, text, seen, kind) {
    const attention = seen.attention[kind];
    if (attention === undefined) return;
    const { layers, queryLen } = attention;
    const last = layers.length - 1;
    // The last cross-attention tells most; there stands the head that was trained on alignments, where there is one.
    const [layer, head] = [kind === 'cross' ? last : 0, 0];
    const state = { task, text, seen, kind, attention, layer, head, step: queryLen - 1 };
    this.#state = state;
    const { element: grid, repaint } = headsGrid(
      attention,
      kind !== 'cross',
      (ofLayer, ofHead) => (isGuided(task, kind, attention, ofLayer, ofHead) ? 'trained on alignments' : ''),
      (ofLayer, ofHead) => {
        [state.layer, state.head] = [ofLayer, ofHead];
        this.#draw();
      },
    );
    this.#repaint = repaint;
    pressHead(grid, layer, head);
    const isDecoding = kind !== 'encoder';
    const steps = slider(
      {
        label: isDecoding ? 'Step of decoding' : 'Token that looks',
        min: 0,
        max: queryLen - 1,
        value: queryLen - 1,
        say: (step) => `${step + 1}: ${nameOf(attention.queryTokens[step] ?? { text: '' })}`,
      },
      (step) => {
        state.step = step;
        this.#draw();
        this.#light(step);
      },
    );
    this.#links.tokens(attention);
    const { positions } = task;
    this.#facts.textContent = `Mask: ${MASKS[kind]}. Positions: ${positions[kind] ?? 'none'}.`;
    const under = `Choose a head; below each: its entropy in bits${kind === 'cross' ? '' : ' · distance in places'}.`;
    body.replaceChildren(
      make('div', { class: 'grid-side' }, make('p', { class: 'quiet' }, under), grid),
      make(
        'div',
        { class: 'head-side' },
        this.#title,
        this.#facts,
        make('div', { class: 'stepping' }, steps, stepper(steps, false), stepper(steps, true)),
        this.#links.element,
        this.#matrix.element,
        make('div', { class: 'buttons' }, this.#saving('Save PNG', true), this.#saving('Save JSON', false)),
      ),
    );
    this.#draw();
  }

  /** @param {string} words @param {boolean} picture */
  #saving(words, picture) {
    const button = make('button', { type: 'button', class: 'pill' }, words);
    button.addEventListener('click', () => {
      const state = this.#state;
      if (state === undefined) return;
      const { task, text, seen, kind, attention, layer, head } = state;
      const name = `attention-${task.model}-${kind}`;
      if (!picture) saveNumbers(name, { model: task.model, text, result: seen.said, kind }, attention);
      else {
        const numbered = `${name}-layer-${(attention.layers[layer] ?? 0) + 1}-head-${(attention.heads[head] ?? 0) + 1}`;
        savePicture(numbered, attention, layer, head, this.element).catch((/** @type {unknown} */ thrown) => {
          this.#title.textContent = thrown instanceof Error ? thrown.message : String(thrown);
        });
      }
    });
    return button;
  }

  /** The head that is chosen, up to the step that is chosen. */
  #draw() {
    const state = this.#state;
    if (state === undefined) return;
    const { task, kind, attention, layer, head, step } = state;
    const { queryLen, keyLen, queryTokens, keyTokens } = attention;
    const weights = headOf(attention, layer, head);
    const { entropy, distance } = figuresOf(weights, queryLen, keyLen);
    const upTo = kind === 'encoder' ? queryLen - 1 : step;
    const far = kind === 'cross' ? '' : `, ${shown(distance, 1)} places away`;
    const guided = labelled(task, kind, isGuided(task, kind, attention, layer, head));
    this.#title.textContent = `Layer ${(attention.layers[layer] ?? 0) + 1}, head ${(attention.heads[head] ?? 0) + 1}: on average ${shown(entropy, 2)} bits of entropy${far}.${guided}`;
    const names = { query: queryTokens.map(nameOf), key: keyTokens.map(nameOf) };
    this.#matrix.show({
      rows: queryLen,
      columns: keyLen,
      rowNames: names.query,
      columnNames: names.key,
      value: (row, column) => weights[row * keyLen + column] ?? 0,
      visible: (row, column) => row <= upTo && (kind !== 'decoder' || column <= row),
      tell: (row, column) => {
        const [query, key] = [
          `${names.query[row] ?? ''} (${row + 1})`,
          `${names.key[column] ?? ''} (${column + 1})`,
        ];
        if (row > upTo) return `${query} is not there yet.`;
        if (kind === 'decoder' && column > row) return `${query} does not see ${key}: masked, exactly 0.`;
        return `${query} looks at ${key} by ${shown(weights[row * keyLen + column] ?? 0, 3)}.`;
      },
    });
    this.#light(undefined);
  }

  /** Shows where a token looks. @param {number | undefined} query */
  #light(query) {
    if (this.#state === undefined) return;
    const { attention, layer, head, kind, step } = this.#state;
    const upTo = kind === 'encoder' ? attention.queryLen - 1 : step;
    this.#links.show(headOf(attention, layer, head), attention.keyLen, query, upTo);
  }
}

/** Goes a step back or on. @param {HTMLElement} steps The slider with what is around it. @param {boolean} on */
function stepper(steps, on) {
  const button = make('button', { type: 'button', class: 'pill' }, on ? 'Step' : 'Back');
  button.addEventListener('click', () => {
    const input = steps.querySelector('input');
    if (on) input?.stepUp();
    else input?.stepDown();
    input?.dispatchEvent(new Event('input'));
  });
  return button;
}

/**
 * What a head of a cross-attention was told about where to look.
 * @param {Task} task @param {Kind} kind @param {boolean} isTrainedSo
 */
function labelled({ guided = false }, kind, isTrainedSo) {
  if (isTrainedSo) return ' This head was trained on word alignments that another program had made.';
  if (kind !== 'cross') return '';
  return guided
    ? ' This head was not trained on alignments: nobody labelled where it looks.'
    : ' Nobody labelled where it looks.';
}

/**
 * Whether a head was trained on alignments: Marian trains the first head of the last cross-attention so.
 * @param {Task} task @param {Kind} kind @param {AttentionWeights} attention @param {number} layer @param {number} head Places in the lists.
 */
function isGuided({ guided = false }, kind, { layers }, layer, head) {
  return guided && kind === 'cross' && layer === layers.length - 1 && head === 0;
}
