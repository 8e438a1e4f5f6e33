// The package's worker of Node, which waits for its threads however long a slow machine needs to start them.

import { patience } from '../dist/instance.js';
import '../dist/node/worker.js';

patience.thread = 600_000;
