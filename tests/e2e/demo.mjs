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
    const page = await context.newPage();
    /** @type {string[]} */
    const problems = [];
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') problems.push(message.text());
    });
    return {
      context,
      page,
      problems,
      source: page.getByRole('textbox', { name: 'Text to translate' }),
      target: page.getByRole('status', { name: 'Translation' }),
      done: () => page.getByText(/words\/s/).waitFor({ timeout: 60_000 }),
      close: () => context.close(),
    };
  }

  return { open, server: () => server };
}
