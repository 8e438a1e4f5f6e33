// The demo page for tests: a server and a browser for the whole file, a fresh profile for each visitor.

import { after, before } from 'node:test';
import { launchChromium } from './chromium.mjs';
import { startServer } from './server.mjs';

/** Starts both before the file's tests and ends them after. */
export function demo() {
  /** @type {Awaited<ReturnType<typeof startServer>>} */
  let server;
  /** @type {Awaited<ReturnType<typeof launchChromium>>} */
  let browser;

  before(async () => {
    server = await startServer();
    browser = await launchChromium();
  });
  after(async () => {
    await browser.close();
    await server.close();
  });

  /** A new visitor, who has nothing cached. @param {import('playwright-core').BrowserContextOptions} [options] */
  async function open(options = {}) {
    server.state.fault = undefined;
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    context.setDefaultTimeout(60_000);
    await context.addInitScript(() => {
      addEventListener('input', () => {
        globalThis.typedAt = performance.now();
      });
    });
    return { context, tab: () => tab(context), ...(await tab(context)), close: () => context.close() };
  }

  return { open, server: () => server };
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
    /** The page and its model are on the device. */
    kept: () => page.getByText(/Works without a network from now on/).waitFor(),
  };
}
