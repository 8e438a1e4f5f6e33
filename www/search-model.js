// The model of the search: the page's own, loaded once texts are to be read, and what is known of it.

import { configure, Embedder, memoryUsage, models } from '../pkg/dist/index.js';
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
/** Of all files. @type {number | undefined} */
let bytes;

export const loadedEmbedder = () => embedder;

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
  loading ??= load(signal, tell).finally(() => {
    loading = undefined;
  });
  return loading;
}

/** @param {AbortSignal} signal @param {(status: string) => void} tell */
async function load(signal, tell) {
  tell('Looking for the model');
  loadButton.hidden = true;
  await startKeeping();
  try {
    embedder = await Embedder.create({
      model: MODEL,
      // A third of float32's memory, about half its time, and the same passages come first.
      precision: 'int8',
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

/** Where it runs, and what the page's modules take of the memory by now. */
export async function showMemory() {
  const { wasm } = await memoryUsage();
  if (embedder === undefined) return;
  const { device, deviceReason, precision } = embedder;
  engine.textContent = `WebAssembly in a worker, ${precision} on the ${device.toUpperCase()} (${deviceReason}); memory of this page’s WebAssembly: ${megabytes(wasm)} MB`;
}

/** Frees its memory. */
export async function unloadModel() {
  embedder?.destroy();
  embedder = undefined;
  await showModel();
}
