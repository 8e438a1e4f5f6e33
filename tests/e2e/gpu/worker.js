// The package's worker that translates, where it is looked for: beside that of GPUs.

import '../../../pkg/dist/worker.js';
