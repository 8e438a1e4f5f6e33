// The chat: messages go to the chosen language model, whose answer is shown as it is written.

import { answer, count, inWords } from './chat-answer.js';
import { EXAMPLES } from './chat-examples.js';
import { clearMessages, exchange, isEmpty } from './chat-messages.js';
import * as model from './chat-model.js';
import { converse, endConversation, loadedModel, openConversation, remember } from './chat-session.js';
import { initialPrompts, onSystemPrompt, samplingWanted } from './chat-settings.js';
import { onDevice } from './device.js';
import { onDrop } from './drops.js';
import { element } from './elements.js';
import { onceShown, shownTab } from './tabs.js';

const panel = element('chat-panel', HTMLElement);
const composer = element('composer', HTMLFormElement);
const message = element('message', HTMLTextAreaElement);
const sendButton = element('send', HTMLButtonElement);
const clearButton = element('chat-clear', HTMLButtonElement);
const loadButton = element('load', HTMLButtonElement);
const status = element('chat-status', HTMLElement);
const voice = element('chat-voice', HTMLElement);
const context = element('context', HTMLMeterElement);
const contextText = element('context-text', HTMLElement);
const fault = element('chat-fault', HTMLElement);
const examples = /** @type {HTMLButtonElement[]} */ ([...panel.querySelectorAll('[data-example]')]);
const file = element('file', HTMLInputElement);
const place = element('place', HTMLInputElement);

/** What has happened, by the code or name of the error. @type {Record<string, string>} */
const PLAINLY = {
  'model-not-found': 'There is no such model.',
  'model-corrupt': 'This file cannot be read as a language model.',
  'model-unsupported': 'This is no model that can be run here.',
  'download-failed': 'The model could not be downloaded.',
  'out-of-memory': 'There is too little memory for the model.',
  'device-lost': 'The GPU was lost on the way.',
  'invalid-argument': 'This cannot be done as it is asked for.',
  QuotaExceededError: 'The message is longer than what the model can take.',
};

/** What is under way: one answer, or one model that loads. @type {AbortController | undefined} */
let current;
/** What was begun last. @type {Promise<unknown>} */
let last = Promise.resolve();

// ---- what is shown

/** @param {string} text */
function tell(text) {
  status.textContent = text;
}

/** @param {unknown} thrown */
function showFault(thrown) {
  const [code, name] =
    thrown instanceof Error ? ['code' in thrown ? String(thrown.code) : '', thrown.name] : ['', ''];
  element('chat-fault-title', HTMLElement).textContent =
    PLAINLY[code] ?? PLAINLY[name] ?? 'This did not work.';
  element('chat-fault-text', HTMLElement).textContent =
    thrown instanceof Error ? thrown.message : String(thrown);
  fault.hidden = false;
  fault.scrollIntoView({ block: 'nearest' });
}

function showContext() {
  const conversation = openConversation();
  const most = conversation?.contextWindow ?? loadedModel()?.contextWindow;
  const usage = conversation?.contextUsage ?? 0;
  context.max = most ?? 1;
  context.value = usage;
  contextText.textContent =
    most === undefined ? 'Nothing read yet' : `${count(usage)} of ${count(most)} tokens`;
}

function showState() {
  const busy = current !== undefined;
  sendButton.textContent = busy ? 'Stop' : 'Send';
  sendButton.classList.toggle('stop', busy);
  sendButton.disabled = current?.signal.aborted ?? false;
  clearButton.hidden = isEmpty() && openConversation() === undefined;
  for (const button of examples) button.disabled = busy;
  model.showEngine();
  showContext();
}

// ---- what is done

/**
 * Does one thing once what is under way was stopped. What goes wrong is shown, and returned as false.
 * @param {(signal: AbortSignal) => Promise<string>} work Resolves to what is to be said of it.
 */
function doing(work) {
  current?.abort();
  const done = after(last, work);
  last = done;
  return done;
}

/** @param {Promise<unknown>} before @param {Parameters<typeof doing>[0]} work */
async function after(before, work) {
  await before;
  const stop = new AbortController();
  current = stop;
  fault.hidden = true;
  showState();
  try {
    tell(await work(stop.signal));
    return true;
  } catch (thrown) {
    tell(stop.signal.aborted ? 'Stopped' : 'Not done');
    if (!stop.signal.aborted) showFault(thrown);
    return false;
  } finally {
    current = undefined;
    showState();
  }
}

/** @param {string} text */
async function send(text) {
  if (text.trim() === '' || current !== undefined) return;
  const shown = exchange(text);
  const sampling = samplingWanted();
  message.value = '';
  const done = await doing(async (signal) => {
    await model.loadChosen(signal, tell);
    tell('Reading');
    const { source } = model.chosenModel();
    const conversation = await converse({ source, signal, progress: () => undefined }, initialPrompts());
    showContext();
    const figures = await answer(conversation, text, { ...sampling, signal }, (piece) => {
      tell('Writing');
      shown.add(piece);
    });
    if (figures.overflowed) {
      shown.notice('The conversation no longer fits: its oldest turns were left out.');
    }
    remember(text, shown.text());
    shown.end(inWords(figures, sampling.maxNewTokens));
    // The whole at once, not piece by piece.
    voice.textContent = `${figures.overflowed ? 'The oldest turns were left out. ' : ''}${shown.text()}`;
    return figures.stopped ? 'Stopped' : 'Ready';
  });
  if (done) return;
  shown.remove();
  if (message.value === '') message.value = text;
  showState();
}

function forget() {
  endConversation();
  clearMessages();
}

async function clear() {
  await doing(async () => {
    forget();
    voice.textContent = '';
    return 'Ready';
  });
  message.focus();
}

/** Another model, and a conversation of its own. @param {() => Promise<void>} choosing */
async function open(choosing) {
  const done = await doing(async (signal) => {
    forget();
    await choosing();
    await model.loadChosen(signal, tell);
    return 'Ready';
  });
  // One that cannot be loaded is none to chat with.
  if (!done) await model.chooseUsual();
  showState();
}

/** No model is in memory any more. @param {() => Promise<void>} leaving */
async function leave(leaving) {
  await doing(async () => {
    forget();
    await leaving();
    return 'Ready';
  });
  loadButton.focus();
}

/** @param {File} chosen */
const openFile = (chosen) => open(() => model.choose(model.fromDisk(chosen)));

// ---- events

for (const button of examples) {
  button.addEventListener('click', () => {
    void send(EXAMPLES[button.dataset['example'] ?? ''] ?? '');
    // The examples are gone; what stops the answer is there.
    sendButton.focus();
  });
}
composer.addEventListener('submit', (event) => {
  event.preventDefault();
  if (current === undefined) {
    void send(message.value);
    return;
  }
  current.abort();
  showState();
});
message.addEventListener('keydown', (event) => {
  // Enter also ends the choice of a character in an input method.
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  void send(message.value);
});
clearButton.addEventListener('click', () => void clear());
loadButton.addEventListener('click', () => {
  message.focus();
  void doing(async (signal) => {
    await model.loadChosen(signal, tell);
    return 'Ready';
  });
});
element('unload', HTMLButtonElement).addEventListener('click', () => void leave(model.unloadChosen));
element('usual', HTMLButtonElement).addEventListener('click', () => void leave(model.chooseUsual));
file.addEventListener('change', () => {
  const [chosen] = file.files ?? [];
  if (chosen !== undefined) void openFile(chosen);
  // The same one may be chosen again.
  file.value = '';
});
element('address', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault();
  const text = place.value.trim();
  if (text !== '') void open(() => model.choose(model.fromAddress(text)));
});
element('dismiss', HTMLButtonElement).addEventListener('click', () => {
  fault.hidden = true;
  message.focus();
});
// A system prompt stands at the beginning: while nothing was said, it can still be another one.
onSystemPrompt(() => {
  if (isEmpty()) endConversation();
});
onDevice(() => {
  if (loadedModel() === undefined && current === undefined) return;
  void doing(async () => {
    await model.unloadChosen();
    return isEmpty() ? 'Ready' : 'Ready: the next message loads the model again';
  });
});

/** Whether the event is about files that the chat can take. @param {DragEvent} event */
const hasFiles = (event) => shownTab() === 'chat' && (event.dataTransfer?.types.includes('Files') ?? false);

onDrop(panel, hasFiles, ({ files: [dropped] }) => {
  if (dropped !== undefined) void openFile(dropped);
});

onceShown('chat', () => {
  void model.showChosen();
  showState();
});
