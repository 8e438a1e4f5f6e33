// The worker of encoders, in Node.

import { understanding } from '../encoder-host.js';
import { ENCODER_MODULES } from '../encoder-modules.js';
import { work } from './node-worker.js';

work(import.meta.url, ENCODER_MODULES, understanding);
