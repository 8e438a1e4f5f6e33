// The wasm that can do everything; what of it translates is not used here.

import * as relaxed from '../wasm/multihead_full_relaxed.js';
import * as simd128 from '../wasm/multihead_full_simd128.js';
import * as threads from '../wasm/multihead_full_threads.js';
import type { WasmEncoderModel } from './encoder-host.js';
import type { Glue, Modules } from './modules.js';
import type { WasmTextModel } from './text-host.js';

export interface FullGlue extends Glue {
  readonly TextModel: new (files: object, options: object) => WasmTextModel;
  readonly EncoderModel: new (files: object, options: object) => WasmEncoderModel;
}

export const FULL_MODULES: Modules<FullGlue> = {
  prefix: 'multihead_full',
  scripts: { simd128, relaxed, threads } as unknown as Modules<FullGlue>['scripts'],
  // The literal form is what bundlers look for.
  files: {
    simd128: new URL('../wasm/multihead_full_simd128_bg.wasm', import.meta.url),
    relaxed: new URL('../wasm/multihead_full_relaxed_bg.wasm', import.meta.url),
    threads: new URL('../wasm/multihead_full_threads_bg.wasm', import.meta.url),
  },
};
