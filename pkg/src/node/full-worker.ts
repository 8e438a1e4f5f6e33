// The worker of language models and encoders, in Node.

import { everything } from '../full-host.js';
import { FULL_MODULES } from '../full-modules.js';
import { work } from './node-worker.js';

work(import.meta.url, FULL_MODULES, everything);
