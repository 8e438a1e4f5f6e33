// What the page says of itself: the model, the engine, how far it has come, what went wrong.

import { whereItRuns } from './device.js';
import { element, megabytes } from './elements.js';
import { nameOf } from './languages.js';

/** @typedef {import('../pkg/dist/index.js').ModelInfo} ModelInfo */
/** @typedef {import('../pkg/dist/index.js').LoadedInfo} LoadedInfo */

const status = element('status', HTMLElement);
const progress = element('progress', HTMLProgressElement);
const fault = element('fault', HTMLElement);
const faultTitle = element('fault-title', HTMLElement);
const faultText = element('fault-text', HTMLElement);
const model = element('model', HTMLElement);
const engine = element('engine', HTMLElement);
const voice = element('voice', HTMLElement);
const noEngine = engine.textContent;

/** What has happened, by the code of the error, for people who don't know what a file is. @type {Record<string, string>} */
const PLAINLY = {
  'model-not-found': 'There is no model for these languages here.',
  'download-failed': 'The model could not be downloaded.',
  'model-corrupt': 'The model that was downloaded is damaged.',
  'model-unsupported': 'This model is of a kind that the page does not know.',
  'out-of-memory': 'This device has too little memory for the model.',
  'device-lost': 'The GPU was lost on the way.',
};

/** @param {string} text */
export function showStatus(text) {
  status.textContent = text;
}

/** Says it to those who do not see: the start and the end of a wait, not its every step. @param {string} text */
function say(text) {
  if (voice.textContent !== text) voice.textContent = text;
}

/** @param {number} loaded Fraction. @param {number} bytes Of all files. */
export function showProgress(loaded, bytes) {
  if (loaded < 1) say('Loading the model');
  progress.value = loaded;
  progress.classList.toggle('done', loaded === 1);
  showStatus(
    loaded === 1
      ? 'Preparing the model'
      : `Loading the model: ${megabytes(loaded * bytes)} of ${megabytes(bytes)} MB`,
  );
}

/** Where the model computes now, which may change with any call. @param {LoadedInfo} [info] None while it loads. */
export function showEngine(info) {
  engine.textContent = info === undefined ? noEngine : whereItRuns(info);
}

/** @param {ModelInfo} pair @param {LoadedInfo} info @param {boolean} kept Whether its files are on this device. */
export function showLoaded(pair, info, kept) {
  if (voice.textContent === 'Loading the model') say('The model is loaded');
  progress.classList.add('done');
  const place = kept ? 'kept on this device' : 'not kept: this browser does not let the page store it';
  model.textContent = `${nameOf(pair)}, ${megabytes(pair.bytes)} MB, ${place}`;
  showEngine(info);
}

export function hideFault() {
  fault.hidden = true;
}

/** @param {unknown} error @param {boolean} waiting Whether there is text that waits to be translated. */
export function showFault(error, waiting) {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const download = code === 'download-failed' || code === 'model-not-found';
  faultTitle.textContent =
    download && !navigator.onLine
      ? 'This device is offline, and the model for these languages is not on it yet. Go online once; after that it is kept.'
      : (PLAINLY[code] ?? 'This could not be translated.');
  faultText.textContent = error instanceof Error ? error.message : String(error);
  fault.hidden = false;
  showStatus(waiting ? 'Not translated' : 'Not ready');
  progress.classList.add('done');
}
