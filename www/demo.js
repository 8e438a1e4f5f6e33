// The demo: translates as you type, sentence by sentence. The newest input wins.

import { configure, LiveTranslation, models, Translator } from '../pkg/dist/index.js';
import { Attention } from './attention.js';
import { chosenDevice, onDevice } from './device.js';
import { element, wordsIn } from './elements.js';
import { examplesFor } from './examples.js';
import { hideFault, showEngine, showFault, showLoaded, showProgress, showStatus } from './facts.js';
import { chosenPair, onChoice, openIndex } from './languages.js';
import { keepAll, startKeeping } from './offline.js';
import { onceShown, shownTab } from './tabs.js';

configure({ modelBase: new URL('models/', document.baseURI) });

/** Milliseconds of silence after a key before the text is translated. */
const PAUSE = 120;
/** Milliseconds after which a translation under way is called so. */
const SLOW = 300;

const source = element('source', HTMLTextAreaElement);
const mirror = element('mirror', HTMLElement);
const target = element('target', HTMLOutputElement);
const count = element('count', HTMLElement);
const clear = element('clear', HTMLButtonElement);
const copy = element('copy', HTMLButtonElement);
const retry = element('retry', HTMLButtonElement);
const examples = element('examples', HTMLElement);

const attention = new Attention({
  source,
  mirror,
  sourceMarks: element('source-marks', HTMLElement),
  target,
  targetMarks: element('target-marks', HTMLElement),
  voice: element('voice', HTMLElement),
});

/** @typedef {{ translator: Translator, translation: LiveTranslation, kept: boolean }} Loaded */
/** By model id; a failed one is asked for again. @type {Map<string, Promise<Loaded>>} */
const translations = new Map();
/** Ends what loads. */
let leaving = new AbortController();

/** The one in use. @type {LiveTranslation | undefined} */
let live;
/** Counts what was asked for: only the newest may write to the page. */
let newest = 0;
/** The text that was last begun to be translated. */
let begun = '';
/** The last complete translation. */
let shown = '';
/** How fast the last one was that took the model. */
let speed = 'Ready';

// ---- what is shown

/** @type {import('../pkg/dist/index.js').LiveProgress | undefined} */
let next;

/**
 * Shows a translation under way. The longer the text, the longer it takes to lay out, and the less often it is shown.
 * @param {import('../pkg/dist/index.js').LiveProgress} progress
 */
function showSoon(progress) {
  if (next === undefined) {
    setTimeout(
      () => {
        if (next !== undefined) show(next);
      },
      Math.min(progress.text.length / 100, 1000),
    );
  }
  next = progress;
}

/** @param {import('../pkg/dist/index.js').LiveProgress} progress */
function show(progress) {
  next = undefined;
  const { text, pending } = progress;
  const stale = document.createElement('span');
  stale.className = 'stale';
  stale.textContent = text.slice(...pending);
  const parts = [text.slice(0, pending[0]), stale, text.slice(pending[1])];
  target.replaceChildren(...(pending[0] === pending[1] ? [text] : parts));
  if (progress.source === source.value) attention.show(progress.source, progress);
}

function showNothing() {
  next = undefined;
  shown = '';
  target.replaceChildren();
  target.setAttribute('aria-busy', 'false');
  copy.hidden = true;
  attention.outdated();
}

function showSource() {
  const words = wordsIn(source.value);
  // A last line break makes a line of its own in the field only.
  mirror.textContent = `${source.value} `;
  count.textContent = words === 1 ? '1 word' : `${words.toLocaleString('en')} words`;
  clear.hidden = source.value === '';
}

function showExamples() {
  const buttons = examplesFor(source.lang).map(({ name, text }) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'pill';
    button.textContent = name;
    button.addEventListener('click', () => {
      setSource(text);
    });
    return button;
  });
  examples.replaceChildren(...buttons);
}

// ---- translating

/** @param {import('../pkg/dist/index.js').ModelInfo} pair */
function translationOf(pair) {
  const { id } = pair;
  const known = translations.get(id);
  if (known !== undefined) return known;
  const loading = load(pair);
  translations.set(id, loading);
  loading.catch(() => {
    if (translations.get(id) === loading) translations.delete(id);
  });
  return loading;
}

/** @param {import('../pkg/dist/index.js').ModelInfo} pair @returns {Promise<Loaded>} */
async function load(pair) {
  const { id, from: sourceLanguage = '', to: targetLanguage = '', bytes } = pair;
  const translator = await Translator.create({
    sourceLanguage,
    targetLanguage,
    model: id,
    device: chosenDevice(),
    signal: leaving.signal,
    monitor(monitor) {
      monitor.addEventListener('downloadprogress', ({ loaded }) => {
        if (chosenPair()?.id === id) showProgress(loaded, bytes);
      });
    },
  });
  const translation = new LiveTranslation(translator, { onProgress: showSoon });
  return { translator, translation, kept: await models.isCached(id) };
}

/** Frees the memory of all models. */
function leave() {
  live?.stop();
  live = undefined;
  leaving.abort();
  leaving = new AbortController();
  for (const one of translations.values()) {
    one.then(
      ({ translator }) => translator.destroy(),
      () => undefined,
    );
  }
  translations.clear();
}

async function translate() {
  const own = ++newest;
  const text = source.value;
  begun = text;
  hideFault();
  try {
    await startKeeping();
    if (chosenPair() === undefined) {
      showStatus('Looking for models');
      await openIndex();
      showExamples();
    }
    const pair = chosenPair();
    if (pair === undefined || own !== newest) return;
    const { translator, translation, kept } = await translationOf(pair);
    if (own !== newest) return;
    // What it has from an earlier time is not what is shown now.
    if (translation !== live) void translation.update('');
    live = translation;
    showLoaded(pair, translator, kept);
    keepAll();
    await follow(live, text);
    if (own === newest) showEngine(translator);
  } catch (error) {
    if (own === newest) showFault(error, source.value.trim() !== '');
  }
}

/** @param {LiveTranslation} translation @param {string} text */
async function follow(translation, text) {
  if (text.trim() === '') {
    showNothing();
    showStatus('Ready');
    // It forgets the text before, as the page does.
    await translation.update('');
    return;
  }
  target.setAttribute('aria-busy', 'true');
  const slow = setTimeout(() => {
    showStatus('Translating');
  }, SLOW);
  const start = performance.now();
  const result = await translation.update(text).finally(() => {
    clearTimeout(slow);
  });
  if (result === undefined) return;
  const seconds = (performance.now() - start) / 1000;
  shown = result.text;
  const end = shown.length;
  show({ ...result, pending: [end, end] });
  target.setAttribute('aria-busy', 'false');
  copy.hidden = shown === '';
  const words = result.translated.reduce((sum, range) => sum + wordsIn(text.slice(...range)), 0);
  if (words > 0) speed = `${Math.round(words / seconds).toLocaleString('en')} words/s`;
  showStatus(speed);
  performance.measure('multihead:update', { start, detail: { translated: result.translated } });
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/** Translates when typing pauses. */
function translateSoon() {
  clearTimeout(timer);
  // What was typed since makes the translation under way useless.
  newest++;
  live?.stop();
  timer = setTimeout(() => void translate(), PAUSE);
}

/** @param {string} text */
function setSource(text) {
  source.value = text;
  showSource();
  attention.outdated();
  live?.stop();
  void translate();
}

// ---- events

/** Whether the text is to be shown with the next frame. */
let changed = false;

source.addEventListener('input', () => {
  attention.outdated();
  translateSoon();
  // Once a frame: where a text is put in line by line, each line is an event, and all of it would be looked at for each.
  if (changed) return;
  changed = true;
  requestAnimationFrame(() => {
    changed = false;
    showSource();
  });
});
// A browser that goes back to the page, or opens it again, may put the text that was in it back, and says nothing.
addEventListener('pageshow', () => {
  if (shownTab() === 'translate' && source.value !== '' && source.value !== begun) setSource(source.value);
});
onChoice(
  () => {
    live?.stop();
    showNothing();
    showExamples();
    void translate();
  },
  () => {
    const text = shown;
    showNothing();
    showExamples();
    setSource(text === '' ? source.value : text);
  },
);
onDevice(() => {
  if (newest === 0) return;
  clearTimeout(timer);
  newest++;
  leave();
  showEngine();
  onceShown('translate', () => void translate());
});
clear.addEventListener('click', () => {
  setSource('');
  source.focus();
});
retry.addEventListener('click', () => void translate());
copy.addEventListener('click', () => void copyShown());

async function copyShown() {
  try {
    await navigator.clipboard.writeText(shown);
    copy.textContent = 'Copied';
  } catch {
    copy.textContent = 'Not allowed';
  }
  setTimeout(() => {
    copy.textContent = 'Copy';
  }, 1500);
}

void startKeeping();
onceShown('translate', () => {
  showSource();
  void translate();
});
