// The package's worker on a GPU that computes wrongly.

import './wrong.js';
import '../../../pkg/dist/gpu-worker.js';
