// Chromium, driven by playwright-core, and what the files of tests in it have in common.

import { createRequire } from 'node:module';
import { after, before, beforeEach } from 'node:test';
import { startServer } from './server.mjs';

const require = createRequire(new URL('../../pkg/package.json', import.meta.url));

const { chromium } = /** @type {typeof import('playwright-core')} */ (require('playwright-core'));

export const EXECUTABLE = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

/**
 * Longest wait for anything, in milliseconds. It only ends what would never end: a machine that is slow, busy and cold
 * gets there long before.
 */
export const LIMIT = 600_000;

/** Starts a headless Chromium that asks nobody on the network but the tests' server. */
export function launchChromium() {
  return chromium.launch({
    executablePath: EXECUTABLE,
    timeout: LIMIT,
    args: [
      '--no-sandbox',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      // On Linux, WebGPU is there on demand only; without a GPU it is Chromium's own software (SwiftShader).
      '--enable-unsafe-webgpu',
    ],
  });
}

/** @typedef {Awaited<ReturnType<typeof startServer>>} Server */

/**
 * A browser and a server for each of these options: started before the file's tests, ended after them. No test begins
 * with a fault.
 * @param {...Parameters<typeof startServer>[0]} options
 */
export function inChromium(...options) {
  /** @type {Server[]} */
  const servers = [];
  /** @type {Awaited<ReturnType<typeof launchChromium>> | undefined} */
  let browser;

  before(async () => {
    for (const one of options) servers.push(await startServer(one));
    browser = await launchChromium();
  });
  beforeEach(() => {
    for (const { state } of servers) state.fault = undefined;
  });
  after(async () => {
    try {
      await browser?.close();
    } finally {
      // Else one that still listens would keep the process of the tests alive.
      for (const server of servers) await server.close();
    }
  });

  /** The server of the options at that place. */
  const server = (place = 0) => {
    const started = servers[place];
    if (started === undefined) throw new Error(`no server ${place} was started`);
    return started;
  };

  /** A new visitor, who has nothing cached. @param {import('playwright-core').BrowserContextOptions} [wanted] */
  const visitor = async (wanted = {}) => {
    if (browser === undefined) throw new Error('no browser was started');
    const context = await browser.newContext(wanted);
    context.setDefaultTimeout(LIMIT);
    return context;
  };

  /** A new visitor's page with the package and nothing else. */
  const blank = async (from = server()) => {
    const context = await visitor();
    const page = await context.newPage();
    /** What the console said. @type {{ type: string, text: string }[]} */
    const told = [];
    page.on('console', (message) => told.push({ type: message.type(), text: message.text() }));
    await openBlank(page, from);
    return { context, page, told, close: () => context.close() };
  };

  return { server, visitor, blank };
}

/** Opens the page with nothing on it, and gives it the package. @param {import('playwright-core').Page} page @param {Server} server */
export async function openBlank(page, server) {
  await page.goto(`${server.origin}/tests/e2e/blank.html`);
  await page.evaluate(async () => {
    const address = new URL('/pkg/dist/index.js', location.href).href;
    globalThis.multihead = /** @type {typeof multihead} */ (await import(address));
  });
}

/** Waits until the condition holds. @param {() => boolean} condition @param {string} what It is, for people. */
export async function until(condition, what) {
  const end = Date.now() + LIMIT;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`in vain: ${what}`);
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  }
}
