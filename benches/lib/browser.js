// Headless Chromium: one with the benchmark page open, or one as a visitor has it.

import { readFile } from 'node:fs/promises';
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
  // On Linux, WebGPU is there on demand only.
  '--enable-unsafe-webgpu',
];

const executable = () => process.env.MULTIHEAD_CHROMIUM ?? '/usr/bin/chromium';

/** The browser's processes: those of pages, their workers included, or all of them, the one of the GPU among them. */
async function processes(session, which = 'pages') {
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  return processInfo.filter(({ type }) => which === 'all' || type === 'renderer');
}

async function usedSeconds(session, which) {
  return (await processes(session, which)).reduce((sum, { cpuTime }) => sum + cpuTime, 0);
}

/** A browser with one empty page. A `profile` folder keeps what a visit leaves; without one all is forgotten. */
export async function openContext(profile) {
  const context = await chromium.launchPersistentContext(profile ?? '', {
    executablePath: executable(),
    args: FLAGS,
  });
  const page = context.pages()[0] ?? (await context.newPage());
  const browser = context.browser();
  const session = await browser.newBrowserCDPSession();
  return {
    browser,
    page,
    cpuSeconds: () => usedSeconds(session),
    /** Bytes that pages' processes hold in memory (Linux). */
    async residentBytes() {
      let bytes = 0;
      for (const { id } of await processes(session)) {
        const status = await readFile(`/proc/${id}/status`, 'utf8');
        bytes += Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? Number.NaN) * 1024;
      }
      return bytes;
    },
    close: () => context.close(),
  };
}

/** Starts the browser of `MULTIHEAD_CHROMIUM`, else Debian's, and opens a page of the benchmarks served at `origin`.
 * `counted`: whose CPU time is told, that of the 'pages' or of 'all' the browser's processes. */
export async function openPage(origin, path = '/benches/page/', counted = 'pages') {
  const browser = await chromium.launch({ executablePath: executable(), args: FLAGS });
  const page = await browser.newPage();
  // On a busy machine everything takes its time; what hangs is stopped elsewhere.
  page.setDefaultTimeout(300_000);
  const requested = new Set();
  page.on('request', (request) => requested.add(new URL(request.url()).pathname));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) console.error(`page: ${message.text()}`);
  });
  page.on('pageerror', (error) => console.error(`page: ${error.message}`));
  await page.goto(new URL(path, origin).href);
  await page.waitForFunction(() => globalThis.bench !== undefined);
  const session = await browser.newBrowserCDPSession();
  return {
    browser,
    page,
    /** Paths asked for so far, by the page and its workers. */
    requested,
    /** CPU seconds that the page's process, its workers included, has used so far; or all processes. */
    cpuSeconds: () => usedSeconds(session, counted),
  };
}
