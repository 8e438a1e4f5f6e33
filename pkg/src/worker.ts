// The worker that translates, in a browser.

import { work } from './browser-worker.js';
import { translating } from './translation-host.js';
import { TRANSLATION_MODULES } from './translation-modules.js';

work(TRANSLATION_MODULES, translating);
