// The wasm of language models.

import * as relaxed from '../wasm/multihead_text_relaxed.js';
import * as simd128 from '../wasm/multihead_text_simd128.js';
import * as threads from '../wasm/multihead_text_threads.js';
import type { WasmTextModel } from './text-host.js';
import type { Glue, Modules } from './modules.js';

export interface TextGlue extends Glue {
  readonly TextModel: new (files: object, options: object) => WasmTextModel;
}

export const TEXT_MODULES: Modules<TextGlue> = {
  prefix: 'multihead_text',
  scripts: { simd128, relaxed, threads } as unknown as Modules<TextGlue>['scripts'],
  // The literal form is what bundlers look for.
  files: {
    simd128: new URL('../wasm/multihead_text_simd128_bg.wasm', import.meta.url),
    relaxed: new URL('../wasm/multihead_text_relaxed_bg.wasm', import.meta.url),
    threads: new URL('../wasm/multihead_text_threads_bg.wasm', import.meta.url),
  },
};
