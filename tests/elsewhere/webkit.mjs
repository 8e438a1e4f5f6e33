// WebKit (the engine of Safari, as WebKitGTK), on the screen of $DISPLAY.

import { launch } from '../e2e/webdriver.mjs';

/** Starts a WebKit with one window. */
export function launchWebKit() {
  if (process.env['DISPLAY'] === undefined) throw new Error('no $DISPLAY: run cargo xtask test webkit');
  return launch({
    driver: 'WebKitWebDriver',
    // Its sandbox needs rights that containers do not give.
    env: { WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1' },
    capabilities: {},
  });
}
