// The demo: translates as you type, sentence by sentence. The newest input wins.

import { configure, models, Translator } from '../pkg/dist/index.js';
import { examplesFor } from './examples.js';

configure({ modelBase: new URL('models/', document.baseURI) });

/** Milliseconds of silence after a key before the text is translated. */
const PAUSE = 120;

/**
 * @template {typeof HTMLElement} Kind
 * @param {string} id
 * @param {Kind} kind
 * @returns {InstanceType<Kind>}
 */
function element(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`no ${kind.name} #${id}`);
  return /** @type {InstanceType<Kind>} */ (found);
}

const from = element('from', HTMLSelectElement);
const to = element('to', HTMLSelectElement);
const swap = element('swap', HTMLButtonElement);
const source = element('source', HTMLTextAreaElement);
const grow = element('grow', HTMLElement);
const target = element('target', HTMLOutputElement);
const count = element('count', HTMLElement);
const status = element('status', HTMLElement);
const progress = element('progress', HTMLProgressElement);
const clear = element('clear', HTMLButtonElement);
const copy = element('copy', HTMLButtonElement);
const fault = element('fault', HTMLElement);
const faultText = element('fault-text', HTMLElement);
const retry = element('retry', HTMLButtonElement);
const examples = element('examples', HTMLElement);
const engine = element('engine', HTMLElement);

const languageNames = new Intl.DisplayNames(['en'], { type: 'language' });

/** @type {import('../pkg/dist/index.js').ModelInfo[]} */
let pairs = [];

/** Translators by model id; a failed one is asked for again. @type {Map<string, Promise<Translator>>} */
const translators = new Map();

/** The translation under way. */
let current = new AbortController();
/** The last complete translation, which stays until the next one has taken its place. */
let shown = '';

/** @param {string} text */
const wordsIn = (text) => text.split(/\s+/u).filter(Boolean).length;

// ---- what is shown

/** @param {string} fresh @param {string} stale */
function show(fresh, stale) {
  const rest = document.createElement('span');
  rest.className = 'stale';
  rest.textContent = stale;
  target.replaceChildren(fresh, ...(stale === '' ? [] : [rest]));
}

/** @param {unknown} error */
function showFault(error) {
  faultText.textContent = error instanceof Error ? error.message : String(error);
  fault.hidden = false;
  status.textContent = source.value.trim() === '' ? 'Not ready' : 'Not translated';
  progress.classList.add('done');
}

function showSource() {
  const words = wordsIn(source.value);
  grow.dataset['text'] = source.value;
  count.textContent = words === 1 ? '1 word' : `${words.toLocaleString('en')} words`;
  clear.hidden = source.value === '';
}

/** @param {number} bytes */
const megabytes = (bytes) => (bytes / 1e6).toFixed(1);

/** @param {number} loaded @param {number} bytes */
function showProgress(loaded, bytes) {
  progress.value = loaded;
  progress.classList.toggle('done', loaded === 1);
  status.textContent =
    loaded === 1
      ? 'Preparing the model'
      : `Loading the model: ${megabytes(loaded * bytes)} of ${megabytes(bytes)} MB`;
}

// ---- the model of the chosen pair

function chosenPair() {
  return pairs.find((pair) => pair.from === from.value && pair.to === to.value);
}

/** @param {import('../pkg/dist/index.js').ModelInfo} pair */
function translatorFor({ id, from: sourceLanguage = '', to: targetLanguage = '', bytes }) {
  let translator = translators.get(id);
  if (translator === undefined) {
    translator = Translator.create({
      sourceLanguage,
      targetLanguage,
      model: id,
      monitor(monitor) {
        monitor.addEventListener('downloadprogress', ({ loaded }) => {
          if (chosenPair()?.id === id) showProgress(loaded, bytes);
        });
      },
    });
    translators.set(id, translator);
    translator.catch(() => translators.delete(id));
  }
  return translator;
}

// ---- translating

async function translate() {
  current.abort();
  current = new AbortController();
  const { signal } = current;
  const text = source.value;
  fault.hidden = true;
  try {
    if (pairs.length === 0) await openIndex();
    const pair = chosenPair();
    if (pair === undefined) return;
    const translator = await translatorFor(pair);
    if (signal.aborted) return;
    progress.classList.add('done');
    engine.textContent = `A Transformer in WebAssembly, in a worker of this page: ${translator.precision} on the ${translator.device.toUpperCase()}, one thread.`;
    if (text.trim() === '') {
      shown = '';
      show('', '');
      copy.hidden = true;
      status.textContent = 'Ready';
      return;
    }
    await stream(translator, text, signal);
  } catch (error) {
    if (!signal.aborted) showFault(error);
  }
}

/** @param {Translator} translator @param {string} text @param {AbortSignal} signal */
async function stream(translator, text, signal) {
  target.setAttribute('aria-busy', 'true');
  const start = performance.now();
  let fresh = '';
  const reader = translator.translateStreaming(text, { signal }).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (signal.aborted) return;
    if (done) break;
    fresh += value;
    show(fresh, shown.slice(fresh.length));
  }
  const seconds = (performance.now() - start) / 1000;
  shown = fresh;
  show(fresh, '');
  copy.hidden = fresh === '';
  target.setAttribute('aria-busy', 'false');
  status.textContent = `${Math.round(wordsIn(text) / seconds).toLocaleString('en')} words/s`;
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/** Translates when typing pauses. */
function translateSoon() {
  clearTimeout(timer);
  // What was typed since makes the translation under way useless.
  current.abort();
  timer = setTimeout(() => void translate(), PAUSE);
}

/** @param {string} text */
function setSource(text) {
  source.value = text;
  showSource();
  void translate();
}

// ---- languages

async function openIndex() {
  status.textContent = 'Looking for models';
  const all = await models.list();
  pairs = all.filter(({ tasks }) => tasks.includes('translation'));
  if (pairs.length === 0)
    throw new Error('The model index has no translation model. Run: cargo xtask models');
  const [wantedFrom, wantedTo] = location.hash.slice(1).split('-');
  fill(from, new Set(pairs.map((pair) => pair.from ?? '')), wantedFrom);
  fillTargets(wantedTo);
  showExamples();
}

/** @param {HTMLSelectElement} select @param {Iterable<string>} tags @param {string | undefined} wanted */
function fill(select, tags, wanted) {
  const options = [...tags].map((tag) => new Option(languageNames.of(tag), tag, false, tag === wanted));
  select.replaceChildren(...options);
  select.disabled = options.length < 2;
}

/** @param {string | undefined} wanted */
function fillTargets(wanted) {
  const targets = pairs.filter((pair) => pair.from === from.value).map((pair) => pair.to ?? '');
  fill(to, new Set(targets), wanted);
  source.lang = from.value;
  target.lang = to.value;
  swap.disabled = !pairs.some((pair) => pair.from === to.value && pair.to === from.value);
  history.replaceState(null, '', `#${from.value}-${to.value}`);
}

function showExamples() {
  const buttons = examplesFor(from.value).map(({ name, text }) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = name;
    button.addEventListener('click', () => {
      setSource(text);
    });
    return button;
  });
  examples.replaceChildren(...buttons);
}

function pairChanged() {
  shown = '';
  show('', '');
  copy.hidden = true;
  showExamples();
  void translate();
}

// ---- events

source.addEventListener('input', () => {
  showSource();
  translateSoon();
});
from.addEventListener('change', () => {
  fillTargets(undefined);
  pairChanged();
});
to.addEventListener('change', () => {
  fillTargets(to.value);
  pairChanged();
});
swap.addEventListener('click', () => {
  const [oldFrom, oldText] = [from.value, shown];
  from.value = to.value;
  fillTargets(oldFrom);
  if (oldText !== '') source.value = oldText;
  showSource();
  pairChanged();
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

showSource();
void translate();
