// The model of the search: the page's own, loaded once texts are to be read, and what is known of it.

import { configure, Embedder, memoryUsage, models } from '../pkg/dist/index.js';
import { chosenDevice, whereItRuns } from './device.js';
import { element, megabytes } from './elements.js';
import { keepAll, startKeeping } from './offline.js';

configure({ modelBase: new URL('models/', document.baseURI) });

const MODEL = 'all-minilm-l6-v2';

const facts = element('search-model-facts', HTMLElement);
const bar = element('search-model-progress', HTMLProgressElement);
const engine = element('search-engine', HTMLElement);
const loadButton = element('search-load', HTMLButtonElement);
const unloadButton = element('search-unload', HTMLButtonElement);
const noEngine = engine.textContent;

/** @type {Embedder | undefined} */
let embedder;
/** The one that loads. @type {Promise<Embedder> | undefined} */
let loading;
/** Ends the loading. */
let leaving = new AbortController();
/** Of all files. @type {number | undefined} */
let bytes;

export const loadedEmbedder = () => embedder;

/** Whether it is loaded, or about to be. */
export const isModelWanted = () => embedder !== undefined || loading !== undefined;

/** Shows the model before it is loaded. */
export async function showModel() {
  engine.textContent = noEngine;
  bar.hidden = true;
  loadButton.hidden = false;
  unloadButton.hidden = true;
  try {
    const info = (await models.list()).find(({ id }) => id === MODEL);
    if (info === undefined) return;
    ({ bytes } = info);
    const place = info.cached ? 'kept on this device' : 'to download once';
    if (embedder === undefined && bar.hidden) facts.textContent = `${megabytes(bytes)} MB, ${place}`;
  } catch {
    // What is wrong with the index will be said when the model is asked for.
  }
}

/**
 * The model, loaded if it is not. Whoever asks while it loads waits for the same; the signal is the first one's.
 * @param {AbortSignal} signal @param {(status: string) => void} tell Is told how far it has come.
 * @returns {Promise<Embedder>}
 */
export async function loadModel(signal, tell) {
  if (embedder !== undefined) return embedder;
  if (loading !== undefined) return loading;
  const stop = new AbortController();
  leaving = stop;
  signal.addEventListener('abort', () => {
    stop.abort();
  });
  loading = load(stop.signal, tell).finally(() => {
    loading = undefined;
  });
  return loading;
}

/** @param {AbortSignal} signal @param {(status: string) => void} tell */
async function load(signal, tell) {
  tell('Looking for the model');
  loadButton.hidden = true;
  await startKeeping();
  const device = chosenDevice();
  try {
    embedder = await Embedder.create({
      model: MODEL,
      device,
      // A third of float32's memory, about half its time, and the same passages come first. On a GPU there is no int8.
      precision: device === 'webgpu' ? 'auto' : 'int8',
      signal,
      monitor(monitor) {
        monitor.addEventListener('downloadprogress', ({ loaded }) => {
          bar.hidden = false;
          bar.value = loaded;
          tell(howFar(loaded));
        });
      },
    });
  } catch (thrown) {
    await showModel();
    throw thrown;
  }
  bar.hidden = true;
  unloadButton.hidden = false;
  const { dimensions, maxTokens } = embedder;
  const size = bytes === undefined ? '' : `${megabytes(bytes)} MB, `;
  facts.textContent = `${size}loaded; ${dimensions} numbers for a passage of up to ${maxTokens} tokens`;
  await showMemory();
  keepAll();
  return embedder;
}

/** @param {number} loaded Fraction. */
function howFar(loaded) {
  if (loaded === 1) return 'Preparing the model';
  return bytes === undefined
    ? `Loading the model: ${Math.floor(loaded * 100)} %`
    : `Loading the model: ${megabytes(loaded * bytes)} of ${megabytes(bytes)} MB`;
}

/** What the page's WebAssembly and GPU take, in words. */
let taken = '';

/** Where it runs now, which may change with any call. */
export function showEngine() {
  if (embedder !== undefined) engine.textContent = `${whereItRuns(embedder)}${taken}`;
}

/** Where it runs, and what the page's modules take of the memory by now. */
export async function showMemory() {
  const { wasm, gpu } = await memoryUsage();
  const more = gpu === 0 ? '' : `, on the GPU: ${megabytes(gpu)} MB`;
  taken = `; memory of this page’s WebAssembly: ${megabytes(wasm)} MB${more}`;
  showEngine();
}

/** Frees its memory, or ends its loading. */
export async function unloadModel() {
  leaving.abort();
  await loading?.catch(() => undefined);
  embedder?.destroy();
  embedder = undefined;
  await showModel();
}
