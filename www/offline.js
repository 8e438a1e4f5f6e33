// The service worker, seen from the page: it keeps the page for visits without a network.

import { element } from './elements.js';

const line = element('offline', HTMLElement);

/**
 * Longest wait for the service worker on the first visit, in milliseconds; it takes a tenth of a second. Without it the
 * page works all the same.
 */
const PATIENCE = 8000;

/** Whether the service worker has seen all that the package's worker loads. */
let sawAll = false;

/** @type {Promise<void> | undefined} */
let keeping;

/**
 * Registers the service worker. On a first visit, waits until it sees what the page loads, so that it can keep it.
 * Never rejects.
 */
export function startKeeping() {
  return (keeping ??= register());
}

async function register() {
  if (!('serviceWorker' in navigator)) {
    line.textContent = 'This browser window cannot keep the page; it needs a network';
    return;
  }
  const { serviceWorker } = navigator;
  serviceWorker.addEventListener('message', ({ data }) => {
    const { kind, reason } = /** @type {{ kind: string, reason?: string }} */ (data);
    if (kind === 'kept') showKept();
    else if (kind === 'not-kept') line.textContent = `The page is not kept on this device (${reason})`;
  });
  serviceWorker.startMessages();
  const came = new Promise((resolve) => {
    serviceWorker.addEventListener('controllerchange', resolve, { once: true });
  });
  try {
    const registration = await serviceWorker.register('sw.js', { updateViaCache: 'none' });
    // A reload by force passes over the service worker that is there.
    const { active } = registration;
    if (serviceWorker.controller === null && (active === null || active.state === 'activating')) {
      await Promise.race([came, failed(registration.installing), later(PATIENCE)]);
    }
    sawAll = serviceWorker.controller !== null;
    if (!sawAll) line.textContent = 'Not kept on this device yet; it will be on the next visit';
    serviceWorker.controller?.postMessage({ kind: 'start' });
  } catch (error) {
    line.textContent = `The page is not kept on this device (${error instanceof Error ? error.message : String(error)})`;
  }
}

/** @param {number} milliseconds */
const later = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** @param {ServiceWorker | null} worker */
const failed = (worker) =>
  new Promise((resolve) => {
    worker?.addEventListener('statechange', () => {
      if (worker.state === 'redundant') resolve(undefined);
    });
  });

let asked = false;

/** Everything is loaded: page, package, worker, model. */
export function keepAll() {
  if (asked || !sawAll) return;
  asked = true;
  const urls = performance
    .getEntriesByType('resource')
    .map(({ name }) => name.replace(/#.*$/u, ''))
    .filter((url) => new URL(url).origin === location.origin);
  navigator.serviceWorker.controller?.postMessage({ kind: 'loaded', urls: [...new Set(urls)] });
}

let isKept = false;

function showKept() {
  isKept = true;
  line.textContent = navigator.onLine
    ? 'Works without a network from now on: page and model are kept on this device'
    : 'No network now, and none is needed: page and model are on this device';
}

for (const change of ['online', 'offline']) {
  addEventListener(change, () => {
    if (isKept) showKept();
  });
}
