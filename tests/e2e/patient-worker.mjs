// The package's worker, which waits for its threads however long a slow machine needs to start them.

import { patience } from '../../pkg/dist/instance.js';
import '../../pkg/dist/worker.js';

patience.thread = 600_000;
