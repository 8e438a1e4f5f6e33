// The package's worker as it is in a browser without relaxed SIMD.

import './no-relaxed-simd.js';
import '/pkg/dist/worker.js';
