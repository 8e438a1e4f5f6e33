// The worker of language models, in a browser.

import { work } from './browser-worker.js';
import { FULL_MODULES } from './full-modules.js';
import { writing } from './text-host.js';

work(FULL_MODULES, writing);
