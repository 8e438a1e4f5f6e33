// The public surface of the package. What it knows of GPUs is fetched where there is one to be asked.

import { useGpu } from './devices.js';

useGpu(() => import('./gpu.js'));

export * from './cpu.js';
