// One headless Chromium with the benchmark page open.

import { chromium } from 'playwright-core';

// In a closed network Chromium's own requests only hang; as root it has no sandbox.
const FLAGS = [
  '--no-sandbox',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
];

/** Starts the browser of `MULTIHEAD_CHROMIUM`, else Debian's, and opens the page served at `origin`. */
export async function openPage(origin) {
  const executablePath = process.env.MULTIHEAD_CHROMIUM ?? '/usr/bin/chromium';
  const browser = await chromium.launch({ executablePath, args: FLAGS });
  const page = await browser.newPage();
  const requested = new Set();
  page.on('request', (request) => requested.add(new URL(request.url()).pathname));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) console.error(`page: ${message.text()}`);
  });
  page.on('pageerror', (error) => console.error(`page: ${error.message}`));
  await page.goto(new URL('/benches/page/', origin).href);
  await page.waitForFunction(() => globalThis.bench !== undefined);
  const session = await browser.newBrowserCDPSession();
  return {
    browser,
    page,
    /** Paths asked for so far, by the page and its workers. */
    requested,
    /** CPU seconds that the page's process, its workers included, has used so far. */
    async cpuSeconds() {
      const { processInfo } = await session.send('SystemInfo.getProcessInfo');
      const renderers = processInfo.filter(({ type }) => type === 'renderer');
      return renderers.reduce((sum, { cpuTime }) => sum + cpuTime, 0);
    },
  };
}
