// Look into a model: choose one, type, and see every head's weights.

import { onDevice, whereItRuns } from '../../device.js';
import { element, megabytes } from '../../elements.js';
import { keepAll } from '../../offline.js';
import { make, newId } from '../dom.js';
import { turns } from '../turns.js';
import { Inspector } from './inspector.js';
import { giveUp, modelOf, TASKS } from './tasks.js';

/** @typedef {import('./tasks.js').Task} Task */

/** Characters of a text: every head has a cell for each pair of tokens, which are drawn at once. */
const LONGEST = 300;

/** @param {HTMLElement} stage */
export function looking(stage) {
  const [modelId, textId] = [newId(), newId()];
  const select = make('select', { id: modelId });
  select.append(...TASKS.map(({ id, name }) => new Option(name, id)));
  const field = make('textarea', { id: textId, rows: 1, dir: 'auto', spellcheck: 'false' });
  const button = make('button', { type: 'submit', class: 'pill' }, 'Look');
  const status = make('p', { class: 'quiet', 'aria-live': 'polite' });
  const note = make('p', { class: 'quiet' });
  const form = make(
    'form',
    { class: 'ask' },
    make('label', { for: modelId }, 'Model'),
    make('span', { class: 'choice' }, select),
    make('label', { for: textId }, 'Text'),
    field,
    button,
  );
  const inspector = new Inspector();
  stage.append(form, status, note, inspector.element);

  const task = () => TASKS.find(({ id }) => id === select.value) ?? TASKS[0];
  const turn = turns();
  let superseded = new AbortController();

  const choose = () => {
    const one = task();
    const isOver = turn();
    superseded.abort();
    field.value = one?.example ?? '';
    note.textContent = one?.note ?? '';
    inspector.clear();
    void say(one, status, isOver);
  };
  const look = async () => {
    const one = task();
    const text = field.value.trim();
    if (one === undefined || text === '') return;
    if (text.length > LONGEST) {
      status.textContent = `Too long to look at: at most ${LONGEST} characters, ${text.length} found`;
      return;
    }
    const isOver = turn();
    superseded.abort();
    superseded = new AbortController();
    const { signal } = superseded;
    status.textContent = 'Looking for the model';
    try {
      const { info, look: lookAt } = await modelOf(one, (loaded) => {
        if (!isOver())
          status.textContent =
            loaded === 1 ? 'Preparing the model' : `Loading the model: ${Math.floor(loaded * 100)} %`;
      });
      keepAll();
      if (isOver()) return;
      status.textContent = 'Asking the model';
      const seen = await lookAt(text, signal);
      if (isOver()) return;
      status.textContent = `“${text}” → ${seen.said}`;
      element('attention-engine', HTMLElement).textContent = whereItRuns(info);
      inspector.show(one, text, seen);
    } catch (thrown) {
      if (!isOver()) status.textContent = thrown instanceof Error ? thrown.message : String(thrown);
    }
  };
  select.addEventListener('change', () => {
    // One at a time is in memory.
    giveUp();
    choose();
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void look();
  });
  field.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    void look();
  });
  onDevice(() => {
    giveUp();
    choose();
  });
  choose();
}

/** What a look would cost. @param {Task | undefined} task @param {HTMLElement} status @param {() => boolean} isOver */
async function say(task, status, isOver) {
  status.textContent = 'Ready';
  try {
    const { models } = await import('../../../pkg/dist/index.js');
    const info = (await models.list()).find(({ id }) => id === task?.model);
    if (info === undefined || isOver()) return;
    status.textContent = `${megabytes(info.bytes)} MB, ${info.cached ? 'kept on this device' : 'to download once'}: “Look” loads it`;
  } catch {
    // What is wrong with the index will be said when the model is asked for.
  }
}
