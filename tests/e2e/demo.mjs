// The demo page for tests: a server and a browser for the whole file, a fresh profile for each visitor.

import { readFileSync } from 'node:fs';
import { inChromium, LIMIT } from './chromium.mjs';
import { fileOf } from './server.mjs';

/**
 * The page's scripts wait some seconds for the service worker and for the server, and go on without: on a slow machine
 * too soon for a test of what they do together.
 * @param {string} path
 */
export function patient(path) {
  const text = readFileSync(fileOf(path), 'utf8');
  const longer = text.replace(/^const PATIENCE = \d+;$/m, `const PATIENCE = ${LIMIT};`);
  if (longer === text) throw new Error(`${path} has no PATIENCE any more`);
  return longer;
}

/** The page's scripts, so. */
export const altered = { '/offline.js': patient('/offline.js'), '/sw.js': patient('/sw.js') };

/** Starts both before the file's tests and ends them after. */
export function demo() {
  const { server, visitor } = inChromium({ altered });

  /** A new visitor, who has nothing cached. @param {import('playwright-core').BrowserContextOptions} [options] */
  async function open(options = {}) {
    server().state.fault = undefined;
    const context = await visitor({ viewport: { width: 1280, height: 800 }, ...options });
    await context.addInitScript(() => {
      addEventListener('input', () => {
        globalThis.typedAt = performance.now();
      });
    });
    return { context, tab: () => tab(context), ...(await tab(context)), close: () => context.close() };
  }

  return { open, server };
}

/** One more page of a visitor. @param {import('playwright-core').BrowserContext} context */
async function tab(context) {
  const page = await context.newPage();
  /** @type {string[]} */
  const problems = [];
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') problems.push(message.text());
  });
  return {
    page,
    problems,
    source: page.getByRole('textbox', { name: 'Text to translate' }),
    target: page.getByRole('status', { name: 'Translation' }),
    /** What was typed last is translated. */
    done: () =>
      page.waitForFunction(() =>
        performance
          .getEntriesByName('multihead:update')
          .some((entry) => entry.startTime >= (globalThis.typedAt ?? 0)),
      ),
    message: page.getByRole('textbox', { name: 'Message' }),
    /** The texts of the chat's answers that are complete. */
    answers: () => page.locator('.message.model:has(.figures) .said').allTextContents(),
    /** So many answers of the chat are complete, and nothing is under way. @param {number} count */
    answered: (count) =>
      page.waitForFunction(
        (wanted) =>
          document.querySelectorAll('.message.model .figures').length === wanted &&
          document.getElementById('send')?.textContent === 'Send',
        count,
      ),
    /** The page and its model are on the device. */
    kept: () => page.getByText(/Works without a network from now on/).waitFor(),
  };
}
