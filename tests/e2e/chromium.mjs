// Chromium, driven by playwright-core.

import { createRequire } from 'node:module';

const require = createRequire(new URL('../../pkg/package.json', import.meta.url));

const { chromium } = /** @type {typeof import('playwright-core')} */ (require('playwright-core'));

export const EXECUTABLE = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

/** Starts a headless Chromium that asks nobody on the network but the tests' server. */
export function launchChromium() {
  return chromium.launch({
    executablePath: EXECUTABLE,
    args: [
      '--no-sandbox',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}
