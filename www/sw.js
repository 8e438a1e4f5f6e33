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
/** Instead of a set: what belongs to none, such as the worker of a page that is not kept. */
const NONE = '';
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

/** Visits are kept one after the other: each deletes what those before it had. */
let keeping = Promise.resolve();

/** @param {Client} client @param {string[]} urls */
function loaded(client, urls) {
  keeping = keeping.then(() => keepAndTell(client, urls));
  return keeping;
}

/** @param {Client} client @param {string[]} urls */
async function keepAndTell(client, urls) {
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
function isModelFile(url) {
  return url.pathname.startsWith(`${scope.pathname}models/`) && !isIndex(url);
}

/** @param {URL} url */
function isIndex({ pathname }) {
  return pathname === `${scope.pathname}models/index.json`;
}

/** The page itself: from the server, and a new set with it; without a network from the set that is kept. */
async function page(/** @type {FetchEvent} */ { request, resultingClientId }) {
  const { current } = await change((state) => state);
  const kept = await find(current, scope.href);
  const response = await ask(request, kept);
  if (response === kept && current !== undefined) {
    await change((state) => {
      state.clients[resultingClientId] = current;
    });
  } else if (response.ok) {
    const set = await change((state) => begin(state, resultingClientId));
    await put(set, scope.href, response.clone());
  }
  return response;
}

/** The server's answer, or what is kept where none comes in time. @param {Request} request @param {Response | undefined} kept */
async function ask(request, kept) {
  if (kept === undefined) return fetch(request);
  try {
    return await Promise.race([fetch(request), tooLate()]);
  } catch {
    return kept;
  }
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
  if (request.destination === 'worker') await startWorker(resultingClientId, set ?? NONE);
  if (set === undefined) return fetch(request);
  const { url } = request;
  let kept = await find(set, url);
  if (isIndex(new URL(url))) {
    // The list of models may change. It is no code, and names files by their hashes: another set's does as well.
    kept ??= await find((await change((state) => state)).current, url);
  } else if (kept !== undefined) {
    return kept;
  }
  const response = await ask(request, kept);
  if (response.ok) await put(set, url, response.clone());
  return response;
}

/** A worker's files belong to its page's. @param {string} id Of the worker; some browsers do not say it. @param {string} set */
function startWorker(id, set) {
  return change((state) => {
    state.newest = set;
    if (id !== '') state.clients[id] = set;
  });
}

/** @param {string | undefined} set @param {string} url @returns {Promise<Response | undefined>} */
async function find(set, url) {
  if (set === undefined) return undefined;
  try {
    return await (await caches.open(set)).match(url);
  } catch {
    return undefined; // Storage that is blocked or broken keeps nothing.
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
  if (known !== undefined) return known === NONE ? undefined : known;
  if (create) return change((state) => begin(state, clientId));
  if (clientId !== '') {
    const client = await worker.clients.get(clientId);
    if (client === undefined || client.type === 'window') return undefined;
  }
  // A browser that does not say whose worker it is (Chromium does not say who a worker's worker is): that of the page
  // that was opened, or that started one, last.
  const newest = await change((state) => state.newest);
  return newest === NONE ? undefined : newest;
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
  const needed = new Set([scope.href, ...urls]);
  for (const url of new Set([...needed, ...(await usedBefore(set))])) {
    if (isModelFile(new URL(url)) || (await cache.match(url)) !== undefined) continue;
    const response = await fetch(url, { cache: 'no-cache' });
    if (response.ok) await cache.put(url, response);
    else if (needed.has(url)) throw new Error(`${url}: ${response.status}`);
  }
  // Workers have their pages' sets. Firefox would ask each of them, and a thread that waits for work does not answer.
  const open = await worker.clients.matchAll({ includeUncontrolled: true, type: 'window' });
  await change((state) => {
    state.current = set;
    // A page that was asked for last may not be open yet.
    const sets = new Set([set, state.newest, ...open.flatMap(({ id }) => state.clients[id] ?? [])]);
    state.clients = Object.fromEntries(Object.entries(state.clients).filter(([, one]) => sets.has(one)));
  });
  // The sets before this one stay while a later start of this worker would look for them.
  if (unwritten !== undefined) throw unwritten;
  const names = await caches.keys();
  // Asked after the names: a set that has begun since is not among them, and one of them that a page has, is in use.
  const used = await change(
    ({ current, newest, clients }) => new Set([current, newest, ...Object.values(clients)]),
  );
  for (const name of names) {
    if (name.startsWith(SET) && !used.has(name)) await caches.delete(name);
  }
}

/**
 * What the set before this one has: a part of the page that somebody has used, and not on this visit, stays there
 * without a network, in the version of this visit. @param {string} set
 */
async function usedBefore(set) {
  const { current } = await change((state) => state);
  if (current === undefined || current === set) return [];
  return (await (await caches.open(current)).keys()).map(({ url }) => url);
}

// ---- the state, which has to outlive this worker: browsers end it whenever they like

/** @type {Promise<unknown>} */
let queue = Promise.resolve();
/** @type {State | undefined} */
let memory;
/** Why the state is in memory only. @type {Error | undefined} */
let unwritten;

const STATE_KEY = `${scope.href}state`;

/**
 * Reads and changes the state, one after the other. Storage that is full, blocked or broken fails no visit: then the
 * state lasts as long as this worker.
 * @template T @param {(state: State) => T} work @returns {Promise<T>}
 */
function change(work) {
  const result = queue.then(async () => {
    memory ??= /** @type {State} */ ((await find(STATE, STATE_KEY).then(json)) ?? { clients: {} });
    const before = JSON.stringify(memory);
    const answer = work(memory);
    const after = JSON.stringify(memory);
    if (after !== before || unwritten !== undefined) await write(after);
    return answer;
  });
  queue = result.catch(() => undefined);
  return result;
}

/** @param {Response | undefined} response @returns {Promise<unknown>} */
async function json(response) {
  try {
    return await response?.json();
  } catch {
    return undefined;
  }
}

/** @param {string} state */
async function write(state) {
  try {
    await (await caches.open(STATE)).put(STATE_KEY, new Response(state));
    unwritten = undefined;
  } catch (error) {
    unwritten = error instanceof Error ? error : new Error(String(error));
  }
}
