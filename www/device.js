// Where the models of the page compute: what the visitor has chosen, kept between visits, and how the page says where a
// model does and why.

import { element } from './elements.js';

/** @typedef {import('../pkg/dist/index.js').Device} Device */
/** @typedef {import('../pkg/dist/index.js').LoadedInfo} LoadedInfo */

const KEY = 'multihead:device';

/** What the package says to developers, in the page's words. @type {readonly (readonly [string, string])[]} */
const PLAINLY = [
  ["a GPU pays for many texts at once only: device: 'webgpu'", 'a GPU gains with many texts at once only'],
  ['int8 products are the CPU’s', 'int8 is computed on the CPU only'],
];

const picker = element('device', HTMLSelectElement);

/** @type {Device[]} */
const DEVICES = ['auto', 'webgpu', 'cpu'];

/** @param {string | null} text */
const deviceOf = (text) => DEVICES.find((device) => device === text) ?? 'auto';

/** Storage may be blocked: then the choice lasts as long as the page. */
function kept() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

/** @param {Device} device */
function keep(device) {
  try {
    if (device === 'auto') localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, device);
  } catch {
    // As above.
  }
}

/** Without WebGPU there is one choice less. The name is looked for; what it stands for is not touched. */
function showWhatThereIs() {
  const gpu = picker.querySelector('option[value=webgpu]');
  if ('gpu' in navigator || !(gpu instanceof HTMLOptionElement)) return;
  gpu.disabled = true;
  gpu.textContent = isSecureContext ? 'GPU: this browser has no WebGPU' : 'GPU: WebGPU needs https';
}

/** @type {Device} */
let chosen = deviceOf(kept());
if (chosen === 'webgpu' && !('gpu' in navigator)) chosen = 'auto';
showWhatThereIs();
picker.value = chosen;

export const chosenDevice = () => chosen;

/** @type {(() => void)[]} */
const listeners = [];

/** Calls back when another device was chosen. @param {() => void} changed */
export function onDevice(changed) {
  listeners.push(changed);
}

picker.addEventListener('change', () => {
  chosen = deviceOf(picker.value);
  keep(chosen);
  for (const changed of listeners) changed();
});

/** Where a model computes now, and why there. @param {LoadedInfo} info */
export function whereItRuns({ device, deviceReason, precision }) {
  const [engine, place] = device === 'webgpu' ? ['WebGPU', 'GPU'] : ['WebAssembly', 'CPU'];
  const why = PLAINLY.reduce((text, [theirs, ours]) => text.replace(theirs, ours), deviceReason);
  return `${engine} in a worker, ${precision} on the ${place}${why === '' ? '' : ` (${why})`}`;
}
