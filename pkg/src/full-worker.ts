// The worker of language models and encoders, in a browser.

import { work } from './browser-worker.js';
import { everything } from './full-host.js';
import { FULL_MODULES } from './full-modules.js';

work(FULL_MODULES, everything);
