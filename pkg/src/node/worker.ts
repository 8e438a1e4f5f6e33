// The worker that translates, in Node.

import { translating } from '../translation-host.js';
import { TRANSLATION_MODULES } from '../translation-modules.js';
import { work } from './node-worker.js';

work(import.meta.url, TRANSLATION_MODULES, translating);
