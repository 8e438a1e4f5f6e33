// The worker of language models, in Node.

import { writing } from '../text-host.js';
import { TEXT_MODULES } from '../text-modules.js';
import { work } from './node-worker.js';

work(import.meta.url, TEXT_MODULES, writing);
