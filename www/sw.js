// Keeps the page on the device, so that it opens without a network. The files of one visit (page, package, the wasm
// that this browser runs) are one set: a set becomes the one for offline visits only once that visit has loaded
// completely, and a page never gets files of two sets. With a network, a visit always gets what the server has now.
//
// Model files are not touched: the package keeps them itself, once it has checked them.

// ---- what the types of pages lack

/** @typedef {Event & { waitUntil(work: Promise<unknown>): void }} ExtendableEvent */
/**
 * @typedef {ExtendableEvent & {
 *   readonly request: Request, readonly clientId: string, readonly resultingClientId: string,
 *   respondWith(answer: Promise<Response>): void
 * }} FetchEvent
 */
/** @typedef {{ readonly id: string, readonly type: string, postMessage(message: unknown): void }} Client */
/** @typedef {ExtendableEvent & { readonly data: unknown, readonly source: Client }} ClientMessageEvent */
/**
 * @typedef {object} Scope
 * @property {ServiceWorkerRegistration} registration
 * @property {() => Promise<void>} skipWaiting
 * @property {{
 *   claim(): Promise<void>, get(id: string): Promise<Client | undefined>,
 *   matchAll(options: { includeUncontrolled: boolean, type: string }): Promise<Client[]>
 * }} clients
 * @property {(type: string, listener: (event: never) => void) => void} addEventListener
 */

const worker = /** @type {Scope} */ (/** @type {unknown} */ (globalThis));

/** Which set is whose. @typedef {{ current?: string, newest?: string, clients: Record<string, string> }} State */

/** Longest wait for a server while there is something kept to show, in milliseconds. */
const PATIENCE = 5000;

const STATE = 'multihead-page';
const SET = 'multihead-page-set-';
const scope = new URL(worker.registration.scope);

worker.addEventListener('install', () => void worker.skipWaiting());
worker.addEventListener('activate', (/** @type {ExtendableEvent} */ event) => {
  event.waitUntil(worker.clients.claim());
});

worker.addEventListener('fetch', (/** @type {FetchEvent} */ event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== 'GET' || url.origin !== scope.origin || isModelFile(url)) return;
  if (request.mode !== 'navigate') event.respondWith(file(event));
  else if (isPage(url)) event.respondWith(page(event));
});

worker.addEventListener('message', (/** @type {ClientMessageEvent} */ event) => {
  const { source } = event;
  const { kind, urls = [] } = /** @type {{ kind: string, urls?: string[] }} */ (event.data);
  if (kind === 'start') event.waitUntil(setOf(source.id, true));
  else if (kind === 'loaded') event.waitUntil(loaded(source, urls));
});

/** @param {Client} client @param {string[]} urls */
async function loaded(client, urls) {
  try {
    await keep(client.id, urls);
    client.postMessage({ kind: 'kept' });
  } catch (error) {
    client.postMessage({ kind: 'not-kept', reason: String(error) });
  }
}

/** @param {URL} url */
function isPage({ pathname }) {
  return pathname === scope.pathname || pathname === `${scope.pathname}index.html`;
}

/** @param {URL} url */
function isModelFile({ pathname }) {
  return pathname.startsWith(`${scope.pathname}models/`) && !isIndex(pathname);
}

/** @param {string} pathname */
function isIndex(pathname) {
  return pathname === `${scope.pathname}models/index.json`;
}

/** The page itself: from the server, and a new set with it; without a network from the set that is kept. */
async function page(/** @type {FetchEvent} */ { request, resultingClientId }) {
  const { current } = await change((state) => state);
  const kept = current === undefined ? undefined : await (await caches.open(current)).match(scope.href);
  let response;
  try {
    response = await (kept === undefined ? fetch(request) : Promise.race([fetch(request), tooLate()]));
  } catch (error) {
    if (kept === undefined || current === undefined) throw error;
    await change((state) => {
      state.clients[resultingClientId] = current;
    });
    return kept;
  }
  if (response.ok) {
    const set = await change((state) => begin(state, resultingClientId));
    await put(set, scope.href, response.clone());
  }
  return response;
}

/** A network that is there and does not answer is none. @returns {Promise<never>} */
function tooLate() {
  return new Promise((_, reject) => {
    setTimeout(() => {
      reject(new Error('no answer in time'));
    }, PATIENCE);
  });
}

/** A file of the page or of the package's worker. */
async function file(/** @type {FetchEvent} */ { request, clientId, resultingClientId }) {
  const set = await setOf(clientId, false);
  if (set === undefined) return fetch(request);
  // A worker's files belong to its page's.
  if (request.destination === 'worker' && resultingClientId !== '') {
    await change((state) => {
      state.clients[resultingClientId] = set;
    });
  }
  const cache = await caches.open(set);
  const { current } = await change((state) => state);
  // The list of models may change; it is no code, and names files by their hashes.
  if (set === current && !isIndex(new URL(request.url).pathname)) {
    const kept = await cache.match(request.url);
    if (kept !== undefined) return kept;
  }
  try {
    const response = await fetch(request);
    if (response.ok) await put(set, request.url, response.clone());
    return response;
  } catch (error) {
    const kept = await cache.match(request.url);
    if (kept === undefined) throw error;
    return kept;
  }
}

/** @param {string} set @param {string} url @param {Response} response */
async function put(set, url, response) {
  try {
    // A browser takes no answer for a page that came by way of another address.
    const own = response.redirected ? new Response(response.body, response) : response;
    await (await caches.open(set)).put(url, own);
  } catch {
    // No room, or storage that is blocked: this visit goes on, and is not kept.
  }
}

/** The set of a page or worker, or a new one for a page that was here before this service worker. @param {string} clientId @param {boolean} create */
async function setOf(clientId, create) {
  const known = await change((state) => state.clients[clientId]);
  if (known !== undefined || clientId === '') return known;
  if (create) return change((state) => begin(state, clientId));
  // A browser that does not say whose worker it is: the page's that was opened last.
  const client = await worker.clients.get(clientId);
  return client === undefined || client.type === 'window' ? undefined : change(({ newest }) => newest);
}

/** @param {State} state @param {string} clientId */
function begin(state, clientId) {
  const set = SET + crypto.randomUUID();
  state.clients[clientId] = set;
  state.newest = set;
  return set;
}

/** Makes the set of a page that has loaded the one for offline visits. @param {string} clientId @param {string[]} urls */
async function keep(clientId, urls) {
  const set = await setOf(clientId, true);
  if (set === undefined) throw new Error('no set');
  const cache = await caches.open(set);
  for (const url of [scope.href, ...urls]) {
    if (isModelFile(new URL(url)) || (await cache.match(url)) !== undefined) continue;
    const response = await fetch(url, { cache: 'no-cache' });
    if (!response.ok) throw new Error(`${url}: ${response.status}`);
    await cache.put(url, response);
  }
  // Workers have their pages' sets. Firefox would ask each of them, and a thread that waits for work does not answer.
  const open = await worker.clients.matchAll({ includeUncontrolled: true, type: 'window' });
  const used = await change((state) => {
    state.current = set;
    const sets = new Set([set, ...open.flatMap(({ id }) => state.clients[id] ?? [])]);
    state.clients = Object.fromEntries(Object.entries(state.clients).filter(([, one]) => sets.has(one)));
    return sets;
  });
  for (const name of await caches.keys()) {
    if (name.startsWith(SET) && !used.has(name)) await caches.delete(name);
  }
}

// ---- the state, which has to outlive this worker: browsers end it whenever they like

/** @type {Promise<unknown>} */
let queue = Promise.resolve();
/** @type {State | undefined} */
let memory;

/**
 * Reads and changes the state, one after the other.
 * @template T @param {(state: State) => T} work @returns {Promise<T>}
 */
function change(work) {
  const result = queue.then(async () => {
    const cache = await caches.open(STATE);
    const key = `${scope.href}state`;
    memory ??= /** @type {State} */ ((await (await cache.match(key))?.json()) ?? { clients: {} });
    const before = JSON.stringify(memory);
    const answer = work(memory);
    const after = JSON.stringify(memory);
    if (after !== before) await cache.put(key, new Response(after));
    return answer;
  });
  queue = result.catch(() => undefined);
  return result;
}
