// The wasm of encoders.

import * as relaxed from '../wasm/multihead_encoder_relaxed.js';
import * as simd128 from '../wasm/multihead_encoder_simd128.js';
import * as threads from '../wasm/multihead_encoder_threads.js';
import type { WasmEncoderModel, WasmLettersModel } from './encoder-host.js';
import type { Glue, Modules } from './modules.js';

export interface EncoderGlue extends Glue {
  readonly EncoderModel: new (files: object, options: object) => WasmEncoderModel;
  readonly LettersModel: new (files: object, options: object) => WasmLettersModel;
}

export const ENCODER_MODULES: Modules<EncoderGlue> = {
  prefix: 'multihead_encoder',
  scripts: { simd128, relaxed, threads } as unknown as Modules<EncoderGlue>['scripts'],
  // The literal form is what bundlers look for.
  files: {
    simd128: new URL('../wasm/multihead_encoder_simd128_bg.wasm', import.meta.url),
    relaxed: new URL('../wasm/multihead_encoder_relaxed_bg.wasm', import.meta.url),
    threads: new URL('../wasm/multihead_encoder_threads_bg.wasm', import.meta.url),
  },
};
