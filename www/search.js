// The search: texts are read passage by passage, and what is typed finds the passages that are nearest in meaning.

import { onDevice } from './device.js';
import { onDrop } from './drops.js';
import { element } from './elements.js';
import { DOCS, EXAMPLES, QUERIES } from './search-examples.js';
import { hidePassage, showBest, showHits, showPassage } from './search-hits.js';
import { drawMap, onMapChoice, showQuery } from './search-map.js';
import {
  isModelWanted,
  loadedEmbedder,
  loadModel,
  showEngine,
  showMemory,
  showModel,
  unloadModel,
} from './search-model.js';
import { bestSentence, Figures, forget, nearest, readAll } from './search-reading.js';
import * as sources from './search-sources.js';
import { onceShown, shownTab } from './tabs.js';

/** @typedef {import('./search-sources.js').Given} Given */

/** Milliseconds of silence after a key before it is searched. */
const PAUSE = 120;
/** Passages that are shown. */
const COUNT = 10;

const panel = element('search-panel', HTMLElement);
const query = element('query', HTMLInputElement);
const queries = element('queries', HTMLElement);
const welcome = element('search-welcome', HTMLElement);
const status = element('search-status', HTMLElement);
const voice = element('search-voice', HTMLElement);
const readStatus = element('read-status', HTMLElement);
const bar = element('read-progress', HTMLProgressElement);
const stopButton = element('read-stop', HTMLButtonElement);
const fault = element('search-fault', HTMLElement);
const files = element('text-files', HTMLInputElement);
const pasted = element('pasted', HTMLTextAreaElement);
const speed = element('search-speed', HTMLElement);
const noSpeed = speed.textContent;

// ---- what is shown

/** @param {unknown} thrown */
function showFault(thrown) {
  element('search-fault-text', HTMLElement).textContent =
    thrown instanceof Error ? thrown.message : String(thrown);
  fault.hidden = false;
  fault.scrollIntoView({ block: 'nearest' });
}

const figures = new Figures();
/** Of the last query, in milliseconds: reading it, and comparing it with every passage. @type {number | undefined} */
let asked;

function showSpeed() {
  const parts = [
    figures.passages === 0 ? '' : `passages: ${figures.inWords()}`,
    asked === undefined ? '' : `the last query: ${Math.round(asked)} ms`,
  ].filter(Boolean);
  speed.textContent = parts.length === 0 ? noSpeed : `Measured in this page: ${parts.join('; ')}`;
}

const isPending = (/** @type {import('./passages.js').Passage} */ { vector }) => vector === undefined;

const pending = () => sources.allPassages().filter(isPending);

function showReading() {
  const total = sources.allPassages().length;
  const done = total - pending().length;
  bar.max = Math.max(total, 1);
  bar.value = done;
  bar.classList.toggle('done', reading === undefined);
  const rate = figures.passages === 0 ? '' : `, ${figures.inWords()}`;
  const stopped = reading === undefined && done < total ? 'Stopped: ' : '';
  const counted =
    done < total ? `${done.toLocaleString('en')} of ${sources.passages(total)}` : sources.passages(total);
  readStatus.textContent = total === 0 ? 'No texts yet' : `${stopped}${counted} read${rate}`;
  stopButton.textContent = reading === undefined ? 'Go on' : 'Stop';
  stopButton.hidden = done === total && reading === undefined;
}

function showTexts() {
  sources.showSources(() => {
    showTexts();
    showReading();
    void drawMap();
    hidePassage();
    void search();
  });
  welcome.hidden = sources.allSources().length > 0;
  const kinds = new Set(sources.allSources().flatMap(({ kind }) => kind ?? []));
  const buttons = [...kinds]
    .flatMap((kind) => QUERIES[kind])
    .map((text) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.className = 'pill';
      button.textContent = text;
      button.addEventListener('click', () => {
        query.value = text;
        void search();
      });
      return button;
    });
  queries.replaceChildren(...buttons);
}

// ---- reading

/** Ends the reading under way. @type {AbortController | undefined} */
let reading;
/** The query under way, which goes before what is still to be read. @type {Promise<void> | undefined} */
let searching;
/** How many passages the map has. */
let onMap = 0;
/** The reading that was begun last. */
let lastReading = Promise.resolve();

/** Reads what was not read yet. */
function read() {
  if (reading === undefined && pending().length > 0) lastReading = readPending();
  return lastReading;
}

async function readPending() {
  const stop = new AbortController();
  reading = stop;
  const start = performance.now();
  showReading();
  try {
    const embedder = await loadModel(stop.signal, (text) => (readStatus.textContent = text));
    await readAll(embedder, pending, figures, stop.signal, () => searching, readSome);
    performance.measure('multihead:read', { start, detail: { passages: sources.allPassages().length } });
  } catch (thrown) {
    if (!stop.signal.aborted) showFault(thrown);
  } finally {
    reading = undefined;
    showReading();
    showSpeed();
    voice.textContent = readStatus.textContent;
  }
  onMap = sources.allPassages().length - pending().length;
  await drawMap();
  await showMemory();
  await search();
}

/** Some more passages were read. */
function readSome() {
  showReading();
  const done = sources.allPassages().length - pending().length;
  // The map is worth drawing anew once it has half as many more.
  if (done < onMap * 1.5) return;
  onMap = done;
  void drawMap();
}

/** Adds texts and reads them. What cannot be added is said, and fails no other. @param {readonly (() => Promise<Given>)[]} given */
async function add(given) {
  fault.hidden = true;
  for (const one of given) {
    try {
      await sources.addSource(await one());
    } catch (thrown) {
      showFault(thrown);
    }
  }
  showTexts();
  await read();
}

// ---- searching

/** Counts the queries: only the newest may write to the page. */
let newest = 0;
/** Ends the query before. */
let superseded = new AbortController();

/** Looks for what is typed; what was looked for before is no longer of interest. */
function search() {
  superseded.abort();
  superseded = new AbortController();
  searching = find(++newest, superseded.signal);
  return searching;
}

/** @param {number} own @param {AbortSignal} signal */
async function find(own, signal) {
  const text = query.value.trim();
  const passages = sources.allPassages().filter((passage) => !isPending(passage));
  if (text === '' || passages.length === 0) {
    showHits([], '');
    showQuery(undefined, []);
    status.textContent = text !== '' && passages.length === 0 ? 'There is nothing to search in yet' : 'Ready';
    return;
  }
  try {
    const embedder = await loadModel(new AbortController().signal, (said) => (status.textContent = said));
    if (own !== newest) return;
    const start = performance.now();
    const vector = await embedder.embed(text, { signal });
    const hits = await nearest(passages, vector, COUNT);
    if (own !== newest) return;
    asked = performance.now() - start;
    hidePassage();
    showHits(hits, text);
    showQuery(
      vector,
      hits.map(({ passage }) => passage),
    );
    showSpeed();
    showEngine();
    const found = hits.length === 1 ? 'The nearest' : `The ${hits.length} nearest`;
    status.textContent = `${found} of ${sources.passages(passages.length)}, ${Math.round(asked)} ms`;
    for (const { passage } of hits) showBest(passage, await bestSentence(embedder, passage, vector, signal));
    voice.textContent = status.textContent;
    performance.measure('multihead:search', { start, detail: { query: text } });
  } catch (thrown) {
    if (!signal.aborted) showFault(thrown);
  }
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

// ---- events

query.addEventListener('input', () => {
  clearTimeout(timer);
  superseded.abort();
  newest++;
  timer = setTimeout(() => void search(), PAUSE);
});
element('search-form', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault();
  clearTimeout(timer);
  void search();
});
stopButton.addEventListener('click', () => {
  if (reading === undefined) void read();
  else reading.abort();
});
for (const button of panel.querySelectorAll('[data-add]')) {
  button.addEventListener('click', () => {
    const isDocs = button.getAttribute('data-add') === 'docs';
    void add(
      isDocs
        ? DOCS.map((address) => () => sources.fromPage(address))
        : EXAMPLES.map((text) => () => Promise.resolve({ ...text, kind: 'examples' })),
    );
    query.focus();
  });
}
files.addEventListener('change', () => {
  void addFiles([...(files.files ?? [])]);
  // The same ones may be chosen again.
  files.value = '';
});
element('paste', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault();
  const text = pasted.value;
  if (text.trim() === '') return;
  pasted.value = '';
  void add([() => Promise.resolve({ name: sources.nameFor('Pasted text'), text })]);
});
element('search-load', HTMLButtonElement).addEventListener('click', () => void load());
element('search-unload', HTMLButtonElement).addEventListener('click', () => void unloadModel());
element('search-dismiss', HTMLButtonElement).addEventListener('click', () => {
  fault.hidden = true;
  query.focus();
});
element('picked-close', HTMLButtonElement).addEventListener('click', () => {
  hidePassage();
  query.focus();
});
onMapChoice(showPassage);

async function load() {
  try {
    await loadModel(new AbortController().signal, (text) => (status.textContent = text));
    status.textContent = 'Ready';
  } catch (thrown) {
    if (thrown instanceof DOMException && thrown.name === 'AbortError') status.textContent = 'Ready';
    else showFault(thrown);
  }
}

/** Counts the devices that were chosen: only the newest is read on. */
let changes = 0;

/** Everything is read again by the model as it is on the device that was chosen, once it is to be seen. */
async function changeDevice() {
  const own = ++changes;
  const passages = sources.allPassages();
  if (!isModelWanted() && passages.length === 0) return;
  reading?.abort();
  forget(passages);
  figures.reset();
  asked = undefined;
  onMap = 0;
  showReading();
  showSpeed();
  hidePassage();
  void drawMap();
  void search();
  await unloadModel();
  await lastReading;
  if (own === changes) onceShown('search', () => void read());
}

onDevice(() => void changeDevice());

/** @param {readonly File[]} chosen */
const addFiles = (chosen) => add(chosen.map((file) => () => sources.fromDisk(file)));

/** Whether something is dragged that the search can take: files, or a text that no field takes. @param {DragEvent} event */
function isTaken({ dataTransfer, target }) {
  if (shownTab() !== 'search' || dataTransfer === null) return false;
  const isField = target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
  return dataTransfer.types.includes('Files') || (dataTransfer.types.includes('text/plain') && !isField);
}

onDrop(panel, isTaken, (dataTransfer) => {
  const dropped = [...dataTransfer.files];
  const text = dataTransfer.getData('text/plain');
  if (dropped.length > 0) void addFiles(dropped);
  else void add([() => Promise.resolve({ name: sources.nameFor('Dropped text'), text })]);
});

onceShown('search', () => {
  void showModel();
  showTexts();
  showReading();
  showSpeed();
  if (loadedEmbedder() !== undefined) void showMemory();
});
