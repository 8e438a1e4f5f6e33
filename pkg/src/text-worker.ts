// The worker of language models, in a browser.

import { work } from './browser-worker.js';
import { writing } from './text-host.js';
import { TEXT_MODULES } from './text-modules.js';

work(TEXT_MODULES, writing);
