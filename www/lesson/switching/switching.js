// A head switched off: what a small model answers then, for a text that is typed, and over texts that nobody has trained on.

import { keepAll } from '../../offline.js';
import { make, newId } from '../dom.js';
import { loss } from '../numbers/switched.js';
import { turns } from '../turns.js';
import { compared } from './answers.js';
import { HeadTable, nameOf } from './head-table.js';
import { headsOf, heldOut, Loaded, SWITCHABLE } from './models.js';

/** @typedef {import('./models.js').Ask} Ask */
/** @typedef {import('./models.js').Switchable} Switchable */
/** @typedef {{ model: Switchable, loaded: Promise<Loaded> }} Opened */

/** Whether each text is answered rightly. @param {Ask} ask @param {readonly (readonly [string, string])[]} pairs */
async function rightOf(ask, pairs) {
  const answers = pairs.map(async ([text, right]) => (await ask(text)).said === right);
  // Whoever frees the model after a failure does so when no other call would load it again.
  await Promise.allSettled(answers);
  return Promise.all(answers);
}

/** @param {Opened} opened */
const free = ({ loaded }) => loaded.then((model) => model.free()).catch(() => undefined);

/** @param {HTMLElement} stage */
export async function switching(stage) {
  const texts = await heldOut();
  const [modelId, textId] = [newId(), newId()];
  const select = make('select', { id: modelId });
  select.append(...SWITCHABLE.map(({ id, name }) => new Option(name, id)));
  const field = make('input', { id: textId, type: 'text', maxlength: 80, dir: 'auto', spellcheck: 'false' });
  const asking = make('p', { class: 'quiet', 'aria-live': 'polite' });
  const form = make(
    'form',
    { class: 'ask' },
    make('label', { for: modelId }, 'Model'),
    make('span', { class: 'choice' }, select),
    make('label', { for: textId }, 'Text'),
    field,
    make('button', { type: 'submit', class: 'pill' }, 'Ask'),
    asking,
  );
  const grid = make('div', { class: 'wide' });
  const button = make('button', { type: 'button', class: 'pill' }, 'Count for every head');
  const counting = make('p', { class: 'quiet', 'aria-live': 'polite' });
  const summary = make('p', { class: 'sum', 'aria-live': 'polite' });
  const answers = make('div', { class: 'worked', 'aria-live': 'polite' });
  stage.append(form, grid, make('div', { class: 'measure' }, button, counting), summary, answers);

  // A text may be asked while heads are counted; another model ends both.
  const [askTurn, countTurn] = [turns(), turns()];
  /** The place of the head that is off, if one is. @type {number | undefined} */
  let off;
  /** @type {HeadTable | undefined} */
  let heads;
  /** @type {Opened | undefined} */
  let current;

  const chosen = () => SWITCHABLE.find(({ id }) => id === select.value) ?? SWITCHABLE[0];
  /** @param {Switchable} model */
  const opened = (model) => {
    if (current !== undefined) return current;
    const own = { model, loaded: Loaded.open(model) };
    own.loaded.catch(() => {
      // Another try fetches anew.
      if (current === own) current = undefined;
    });
    return (current = own);
  };
  /**
   * Work with a model; the line says how it goes.
   * @param {Switchable} model @param {HTMLElement} line @param {() => boolean} isOver @param {(loaded: Loaded) => Promise<void>} work
   */
  const doing = async (model, line, isOver, work) => {
    line.textContent = 'Loading the model';
    const own = opened(model);
    try {
      const loaded = await own.loaded;
      if (isOver()) return;
      await work(loaded);
      keepAll();
    } catch (thrown) {
      if (!isOver()) line.textContent = thrown instanceof Error ? thrown.message : String(thrown);
    } finally {
      // A call under way when another model was chosen has loaded this one once more.
      if (current !== own) await free(own);
    }
  };
  /** The text that is typed, with all heads and without the one that is off. */
  const ask = async () => {
    const isOver = askTurn();
    const [model, text] = [chosen(), field.value.trim()];
    if (model === undefined) return;
    if (text === '') {
      asking.textContent = 'Type a text to ask it for';
      return;
    }
    const head = off === undefined ? undefined : headsOf(model)[off];
    await doing(model, asking, isOver, async (loaded) => {
      asking.textContent = 'Asking';
      const whole = await loaded.ask(text);
      if (isOver()) return;
      const without = head && {
        name: nameOf(head),
        answer: await loaded.without(head, (askWithout) => askWithout(text)),
      };
      if (isOver()) return;
      asking.textContent = '';
      answers.replaceChildren(...compared(model, whole, without));
    });
  };
  const count = async () => {
    const isOver = countTurn();
    const [model, table] = [chosen(), heads];
    if (model === undefined || table === undefined) return;
    const [all, pairs] = [headsOf(model), texts[model.id] ?? []];
    table.clear();
    summary.textContent = '';
    await doing(model, counting, isOver, async (loaded) => {
      // Once: the numbers themselves say how far it is.
      counting.textContent = `Counting: ${all.length} heads, one after the other`;
      const whole = await rightOf(loaded.ask, pairs);
      let spared = 0;
      for (const [place, head] of all.entries()) {
        if (isOver()) return;
        const without = await loaded.without(head, (askWithout) => rightOf(askWithout, pairs));
        if (isOver()) return;
        const { right, lost, share } = loss(whole, without);
        table.mark(place, { right, of: pairs.length, share });
        if (lost === 0) spared++;
      }
      counting.textContent = '';
      summary.textContent = `${whole.filter(Boolean).length} of ${pairs.length} right with all heads on. ${spared} of ${all.length} heads can be switched off, one at a time, without losing any.`;
    });
  };
  const choose = () => {
    askTurn();
    countTurn();
    if (current !== undefined) void free(current);
    current = undefined;
    off = undefined;
    const model = chosen();
    if (model === undefined) return;
    field.value = model.example;
    asking.textContent = '';
    counting.textContent = `Asks ${texts[model.id]?.length ?? 0} ${model.texts}, with all heads on and with each one off.`;
    summary.textContent = '';
    answers.replaceChildren();
    const table = new HeadTable(model, (place) => {
      off = off === place ? undefined : place;
      table.press(off);
      void ask();
    });
    heads = table;
    grid.replaceChildren(table.element);
  };
  select.addEventListener('change', choose);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void ask();
  });
  button.addEventListener('click', () => void count());
  choose();
}
