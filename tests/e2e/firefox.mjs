// Firefox, driven by geckodriver.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch } from './webdriver.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** geckodriver of the project's own tools, or of the PATH. */
function driver() {
  const folders = [process.env['MULTIHEAD_TOOLS'], join(ROOT, '.tools')];
  const own = folders.flatMap((folder) => (folder ? [join(folder, 'bin', 'geckodriver')] : []));
  return own.find((path) => existsSync(path)) ?? 'geckodriver';
}

/** Starts a headless Firefox with one window, which has WebGPU. */
export function launchFirefox() {
  return launch({
    driver: driver(),
    capabilities: {
      'moz:firefoxOptions': {
        args: ['-headless'],
        binary: process.env['FIREFOX'] ?? '/usr/bin/firefox-esr',
        // WebGPU, on software too, where it is not on by itself.
        prefs: { 'dom.webgpu.enabled': true, 'gfx.webgpu.ignore-blocklist': true },
      },
    },
  });
}
