// Which language model the chat is with, where it comes from, and what is known of it.

import { configure, memoryUsage, models } from '../pkg/dist/index.js';
import { load, loadedModel, unload } from './chat-session.js';
import { whereItRuns } from './device.js';
import { element, megabytes } from './elements.js';
import { keepAll, startKeeping } from './offline.js';

/** @typedef {import('../pkg/dist/index.js').ModelSource} ModelSource */
/** @typedef {{ name: string, source: ModelSource, place: string, bytes?: number | undefined }} Choice */

configure({ modelBase: new URL('models/', document.baseURI) });

/** The model of the page. @type {Choice} */
const USUAL = {
  name: 'smollm2-135m-instruct',
  source: 'smollm2-135m-instruct',
  place: '98.4 MB to download once',
};

const nameLine = element('model-name', HTMLElement);
const facts = element('model-facts', HTMLElement);
const bar = element('model-progress', HTMLProgressElement);
const engine = element('chat-engine', HTMLElement);
const loadButton = element('load', HTMLButtonElement);
const unloadButton = element('unload', HTMLButtonElement);
const usual = element('usual', HTMLButtonElement);
const noEngine = engine.textContent;

/** @type {Choice} */
let chosen = USUAL;

export const chosenModel = () => chosen;

/** Shows the model before it is loaded. */
export async function showChosen() {
  const { name, place } = chosen;
  nameLine.textContent = name;
  facts.textContent = place;
  showEngine();
  bar.hidden = true;
  usual.hidden = chosen === USUAL;
  loadButton.hidden = false;
  unloadButton.hidden = true;
  if (chosen !== USUAL) return;
  try {
    const info = (await models.list()).find(({ id }) => id === USUAL.source);
    if (chosen !== USUAL || loadedModel() !== undefined || info === undefined) return;
    USUAL.bytes = info.bytes;
    USUAL.place = `${megabytes(info.bytes)} MB${info.cached ? ', kept on this device' : ' to download once'}`;
    if (bar.hidden) facts.textContent = USUAL.place;
  } catch {
    // What is wrong with the index will be said when the model is asked for.
  }
}

/** Where the model computes now, which may change with any call. */
export function showEngine() {
  const model = loadedModel();
  engine.textContent = model === undefined ? noEngine : whereItRuns(model);
}

/** @param {number} loaded Fraction. */
function howFar(loaded) {
  if (loaded === 1) return 'Preparing the model';
  const { bytes } = chosen;
  return bytes === undefined
    ? `Loading the model: ${Math.floor(loaded * 100)} %`
    : `Loading the model: ${megabytes(loaded * bytes)} of ${megabytes(bytes)} MB`;
}

/** What the loaded model takes, by what the package knows of it. */
async function bytesLoaded() {
  const [{ models: loaded }, pairs] = await Promise.all([memoryUsage(), models.list().catch(() => [])]);
  const translating = new Set(pairs.filter(({ tasks }) => tasks.includes('translation')).map(({ id }) => id));
  return loaded.find(({ id }) => !translating.has(id))?.bytes;
}

/**
 * Loads the chosen model, with what there is to see of it.
 * @param {AbortSignal} signal @param {(status: string) => void} tell Is told how far it has come.
 */
export async function loadChosen(signal, tell) {
  const { source } = chosen;
  if (loadedModel() === undefined) {
    tell('Looking for the model');
    loadButton.hidden = true;
    unloadButton.hidden = true;
    await startKeeping();
  }
  try {
    const progress = (/** @type {number} */ loaded) => {
      bar.hidden = false;
      bar.value = loaded;
      tell(howFar(loaded));
    };
    const model = await load({ source, signal, progress });
    keepAll();
    if (!unloadButton.hidden) return;
    chosen.bytes ??= await bytesLoaded();
    const size = chosen.bytes === undefined ? '' : `${megabytes(chosen.bytes)} MB, `;
    facts.textContent = `${size}loaded; a window of ${model.contextWindow.toLocaleString('en')} tokens`;
    showEngine();
    bar.hidden = true;
    loadButton.hidden = true;
    unloadButton.hidden = false;
  } catch (thrown) {
    await showChosen();
    throw thrown;
  }
}

/** Frees the memory of the model. */
export async function unloadChosen() {
  unload();
  await showChosen();
}

/** Another one from now on. @param {Choice} choice */
export async function choose(choice) {
  unload();
  chosen = choice;
  await showChosen();
}

export const chooseUsual = () => choose(USUAL);

/** @param {File} file @returns {Choice} */
export const fromDisk = (file) => ({
  name: file.name,
  source: { files: { [file.name]: file } },
  place: `${megabytes(file.size)} MB, from the disk`,
  bytes: file.size,
});

/** @param {string} text An address, or a name on Hugging Face. @returns {Choice} */
export const fromAddress = (text) => ({ name: text, source: text, place: 'not loaded yet' });
