// The wasm that translates, and nothing else.

import * as relaxed from '../wasm/multihead_relaxed.js';
import * as simd128 from '../wasm/multihead_simd128.js';
import * as threads from '../wasm/multihead_threads.js';
import type { Glue, Modules } from './modules.js';
import type { WasmTranslationModel } from './translation-host.js';

export interface TranslationGlue extends Glue {
  readonly TranslationModel: new (files: object, options: object) => WasmTranslationModel;
}

export const TRANSLATION_MODULES: Modules<TranslationGlue> = {
  prefix: 'multihead',
  scripts: { simd128, relaxed, threads },
  // The literal form is what bundlers look for.
  files: {
    simd128: new URL('../wasm/multihead_simd128_bg.wasm', import.meta.url),
    relaxed: new URL('../wasm/multihead_relaxed_bg.wasm', import.meta.url),
    threads: new URL('../wasm/multihead_threads_bg.wasm', import.meta.url),
  },
};
