// A head switched off: what a small model answers then, for a text that is typed, and over texts that nobody has trained on.

import { keepAll } from '../../offline.js';
import { make, newId, shown, table, weigh } from '../dom.js';
import { differing } from '../numbers/differing.js';
import { headsOf, heldOut, Loaded, SWITCHABLE } from './models.js';

/** @typedef {import('./models.js').Answer} Answer */
/** @typedef {import('./models.js').Ask} Ask */
/** @typedef {import('./models.js').Head} Head */
/** @typedef {import('./models.js').Switchable} Switchable */
/** @typedef {{ whole: number, without: number[], of: number }} Counts Texts that are answered rightly. */

const KINDS = { encoder: 'Encoder', decoder: 'Decoder', cross: 'Cross-attention' };

/** @param {Head} head */
const nameOf = ({ kind, layer, head }) => `${KINDS[kind]}, layer ${layer + 1}, head ${head + 1}`;

/** @param {Ask} ask @param {readonly (readonly [string, string])[]} pairs */
async function rightOf(ask, pairs) {
  const answers = await Promise.all(pairs.map(([text]) => ask(text)));
  return answers.filter(({ said }, place) => said === pairs[place]?.[1]).length;
}

/** @param {HTMLElement} stage */
export function switching(stage) {
  const [modelId, textId] = [newId(), newId()];
  const select = make('select', { id: modelId });
  select.append(...SWITCHABLE.map(({ id, name }) => new Option(name, id)));
  const field = make('input', { id: textId, type: 'text', maxlength: 80, dir: 'auto', spellcheck: 'false' });
  const form = make(
    'form',
    { class: 'ask' },
    make('label', { for: modelId }, 'Model'),
    make('span', { class: 'choice' }, select),
    make('label', { for: textId }, 'Text'),
    field,
    make('button', { type: 'submit', class: 'pill' }, 'Ask'),
  );
  const status = make('p', { class: 'quiet', 'aria-live': 'polite' });
  const grid = make('div', { class: 'wide' });
  const counting = make('button', { type: 'button', class: 'pill' });
  const summary = make('p', { class: 'sum', 'aria-live': 'polite' });
  const answers = make('div', { class: 'worked', 'aria-live': 'polite' });
  stage.append(form, grid, make('div', { class: 'measure' }, counting, status), summary, answers);

  const chosen = () => SWITCHABLE.find(({ id }) => id === select.value) ?? SWITCHABLE[0];
  /** The place of the head that is off. */
  let off = 0;
  /** @type {Counts | undefined} */
  let counts;
  /** Only the newest work may write to the page. */
  let newest = 0;
  /** @type {{ model: Switchable, loaded: Promise<Loaded> } | undefined} */
  let current;

  /** @param {Switchable} model */
  const loadedOf = (model) => {
    if (current?.model !== model) {
      free();
      const own = { model, loaded: Loaded.open(model) };
      own.loaded.catch(() => {
        if (current === own) current = undefined;
      });
      current = own;
    }
    return current.loaded;
  };
  const free = () => {
    current?.loaded.then((loaded) => loaded.free()).catch(() => undefined);
    current = undefined;
  };
  /**
   * @param {(model: Switchable, loaded: Loaded, isOver: () => boolean) => Promise<void>} work
   */
  const doing = async (work) => {
    const model = chosen();
    if (model === undefined) return;
    const own = ++newest;
    try {
      status.textContent = 'Loading the model';
      const loaded = await loadedOf(model);
      await work(model, loaded, () => own !== newest);
      keepAll();
      // A call under way when another model was chosen has loaded it once more.
      if (current?.model !== model) await loaded.free();
    } catch (thrown) {
      if (own === newest) status.textContent = thrown instanceof Error ? thrown.message : String(thrown);
    }
  };
  const draw = () => {
    const model = chosen();
    if (model !== undefined)
      grid.replaceChildren(
        headTable(model, counts, off, (place) => {
          off = place;
          draw();
          // The table is new: whoever goes by keys goes on from here.
          grid.querySelectorAll('button')[place]?.focus();
          void compare();
        }),
      );
  };
  /** The text that is typed, with all heads and without the one that is off. */
  const compare = () =>
    doing(async (model, loaded, isOver) => {
      const text = field.value.trim();
      const head = headsOf(model)[off];
      if (head === undefined) return;
      if (text === '') {
        status.textContent = 'Type a text to ask it for';
        return;
      }
      const before = await loaded.ask(text);
      const after = await loaded.without(head, (ask) => ask(text));
      if (isOver()) return;
      status.textContent = '';
      answers.replaceChildren(...compared(model, nameOf(head), before, after));
    });
  const count = () =>
    doing(async (model, loaded, isOver) => {
      const pairs = (await heldOut())[model.id] ?? [];
      const heads = headsOf(model);
      const found = {
        whole: await rightOf(loaded.ask, pairs),
        without: /** @type {number[]} */ ([]),
        of: pairs.length,
      };
      if (isOver()) return;
      counts = found;
      for (const head of heads) {
        status.textContent = `${nameOf(head)} is off`;
        found.without.push(await loaded.without(head, (ask) => rightOf(ask, pairs)));
        if (isOver()) return;
        draw();
      }
      const spared = found.without.filter((right) => right >= found.whole).length;
      status.textContent = '';
      summary.textContent = `${found.whole} of ${found.of} right with all heads on. ${spared} of ${heads.length} heads can be switched off, one at a time, without losing any.`;
    });
  const choose = () => {
    newest++;
    free();
    [off, counts] = [0, undefined];
    const model = chosen();
    field.value = model?.example ?? '';
    counting.textContent = 'Count for every head';
    status.textContent = `Asks 40 ${model?.texts ?? ''}, with all heads on and with each one off.`;
    summary.textContent = '';
    answers.replaceChildren();
    draw();
  };
  select.addEventListener('change', choose);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void compare();
  });
  counting.addEventListener('click', () => void count());
  choose();
}

/**
 * A row a layer, a column a head; a button each, with what is right without it once that is counted.
 * @param {Switchable} model @param {Counts | undefined} counts @param {number} off @param {(place: number) => void} chosen
 */
function headTable(model, counts, off, chosen) {
  const all = headsOf(model);
  const rows = [];
  for (let start = 0; start < all.length; start += model.heads) {
    const [first] = all.slice(start, start + 1);
    const cells = all.slice(start, start + model.heads).map((head, column) => {
      const right = counts?.without[start + column];
      const said = right === undefined ? '' : `: ${right} of ${counts?.of ?? 0} right without it`;
      const button = make(
        'button',
        {
          type: 'button',
          'aria-pressed': String(start + column === off),
          'aria-label': `Switch off ${nameOf(head)}${said}`,
        },
        right === undefined ? 'off' : String(right),
      );
      button.addEventListener('click', () => {
        chosen(start + column);
      });
      return weigh(
        make('td', { class: 'heat' }, button),
        right === undefined ? 0 : 1 - right / (counts?.whole ?? 1),
      );
    });
    rows.push([first === undefined ? '' : `${KINDS[first.kind]}, layer ${first.layer + 1}`, ...cells]);
  }
  const names = Array.from({ length: model.heads }, (_, head) => `Head ${head + 1}`);
  return table('Heads to switch off', ['', ...names], rows);
}

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

/** @param {Switchable} model @param {string} name @param {Answer} before @param {Answer} after */
function compared({ separator }, name, before, after) {
  const rows = [
    ['All heads on', answerOf(separator, before, after), shown(before.probability, 5)],
    [`Off: ${name}`, answerOf(separator, after, before), shown(after.probability, 5)],
  ];
  const verdict =
    before.said === after.said
      ? 'The answer stays: for this text the other heads have all that it needs.'
      : 'The answer changes: what this head brought, the others do not bring.';
  return [
    make(
      'div',
      { class: 'wide' },
      table('The answer with the head and without it', ['', 'Answer', 'Probability'], rows),
    ),
    make('p', { class: 'sum' }, verdict),
  ];
}
