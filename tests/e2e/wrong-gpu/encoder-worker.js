// The package's worker of encoders, where it is looked for: beside that of GPUs.

import '../../../pkg/dist/encoder-worker.js';
