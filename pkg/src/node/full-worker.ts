// The worker of language models, in Node.

import { FULL_MODULES } from '../full-modules.js';
import { writing } from '../text-host.js';
import { work } from './node-worker.js';

work(import.meta.url, FULL_MODULES, writing);
