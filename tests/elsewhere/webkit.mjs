// WebKit (the engine of Safari, as WebKitGTK), on a screen of its own.

import { spawn } from 'node:child_process';
import { launch } from '../e2e/webdriver.mjs';

/** A screen that nobody sees; its name, as programs know it. */
function openScreen() {
  const screen = spawn('Xvfb', ['-displayfd', '1', '-screen', '0', '1280x800x24'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  /** @type {Promise<string>} */
  const name = new Promise((resolve, reject) => {
    screen.on('error', (error) => {
      reject(new Error(`Xvfb cannot be started (cargo xtask setup installs it): ${error.message}`));
    });
    screen.on('exit', (code) => {
      reject(new Error(`Xvfb ended at once, with ${code}`));
    });
    screen.stdout.once('data', (/** @type {Buffer} */ data) => {
      resolve(`:${data.toString().trim()}`);
    });
  });
  return { name, close: () => screen.kill() };
}

/** Starts a WebKit with one window. */
export async function launchWebKit() {
  const screen = openScreen();
  try {
    const browser = await launch({
      driver: 'WebKitWebDriver',
      // Its sandbox needs rights that containers do not give.
      env: { DISPLAY: await screen.name, WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1' },
      capabilities: {},
    });
    return {
      ...browser,
      close: async () => {
        await browser.close();
        screen.close();
      },
    };
  } catch (error) {
    screen.close();
    throw error;
  }
}
