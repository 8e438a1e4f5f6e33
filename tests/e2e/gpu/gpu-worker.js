// The package's worker of GPUs, watched.

import './counts.js';
import '../../../pkg/dist/gpu-worker.js';
