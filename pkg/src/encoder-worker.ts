// The worker of encoders, in a browser.

import { work } from './browser-worker.js';
import { understanding } from './encoder-host.js';
import { ENCODER_MODULES } from './encoder-modules.js';

work(ENCODER_MODULES, understanding);
