// The tabs: the address says which one is shown, so that a reload, a link and the browser's Back keep to it.

/** @typedef {'translate' | 'chat' | 'search' | 'attention'} Tab */

const tabs = /** @type {HTMLAnchorElement[]} */ ([...document.querySelectorAll('[role=tab]')]);

/** What waits for a tab to be shown. @type {Map<Tab, (() => void)[]>} */
const waiting = new Map();

/**
 * Whatever is not another tab is the translation, whose address names its languages; the lesson's has places of it.
 * @returns {Tab}
 */
export function shownTab() {
  const { hash } = location;
  if (hash === '#chat') return 'chat';
  if (hash === '#search') return 'search';
  return /^#attention(?:-|$)/u.test(hash) ? 'attention' : 'translate';
}

/** Calls back as soon as the tab is shown, once. @param {Tab} tab @param {() => void} begin */
export function onceShown(tab, begin) {
  if (shownTab() === tab) begin();
  else waiting.set(tab, [...(waiting.get(tab) ?? []), begin]);
}

/** Where the tab of the translation leads. @param {string} hash */
export function addressOfTranslation(hash) {
  for (const tab of tabs) if (tab.id === 'translate-tab') tab.href = hash;
  if (shownTab() === 'translate') history.replaceState(null, '', hash);
}

function show() {
  const shown = shownTab();
  for (const tab of tabs) {
    const selected = tab.id === `${shown}-tab`;
    tab.setAttribute('aria-selected', String(selected));
    // One stop of the Tab key for all of them; the arrow keys go from one to the other.
    tab.tabIndex = selected ? 0 : -1;
  }
  for (const part of document.querySelectorAll('[data-tab]')) {
    if (part instanceof HTMLElement) part.hidden = part.dataset['tab'] !== shown;
  }
  const begun = waiting.get(shown) ?? [];
  waiting.delete(shown);
  for (const begin of begun) begin();
}

/** Where a key leads from a tab. @param {string} key @param {number} place */
function target(key, place) {
  const places = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: -1, ' ': place };
  return key in places ? tabs.at(places[/** @type {keyof typeof places} */ (key)] % tabs.length) : undefined;
}

for (const [place, tab] of tabs.entries()) {
  tab.addEventListener('keydown', (event) => {
    const next = event.ctrlKey || event.altKey || event.metaKey ? undefined : target(event.key, place);
    if (next === undefined) return;
    event.preventDefault();
    next.focus();
    next.click();
  });
}
addEventListener('hashchange', show);
show();
