// The wasm that computes on a GPU: one for all kinds of models, which share the device.

import * as script from '../wasm/multihead_gpu_simd128.js';
import type { EncoderGlue } from './encoder-modules.js';
import type { WasmEncoderModel, WasmLettersModel } from './encoder-host.js';
import type { Glue } from './modules.js';
import type { TextGlue } from './text-modules.js';
import type { WasmTextModel } from './text-host.js';
import type { TranslationGlue } from './translation-modules.js';
import type { WasmTranslationModel } from './translation-host.js';

/** A model on a GPU. */
export interface Warmed {
  /** Runs one kind of step for the first time, for which pipelines are made; how many there are left. */
  warmUp(): Promise<number>;
}

export interface GpuGlue extends Glue, EncoderGlue, TextGlue, TranslationGlue {
  readonly EncoderModel: new (files: object, options: object) => WasmEncoderModel & Warmed;
  readonly LettersModel: new (files: object, options: object) => WasmLettersModel & Warmed;
  readonly TextModel: new (files: object, options: object) => WasmTextModel & Warmed;
  readonly TranslationModel: new (files: object, options: object) => WasmTranslationModel & Warmed;
  /** Asks the browser for a GPU and tries it. Throws `{ code: 'gpu-unavailable', message }`. */
  startGpu(options: undefined): Promise<object>;
  /** Bytes of all buffers. */
  gpuBytes(): number;
}

export const GPU_SCRIPT = script as unknown as GpuGlue;
export const GPU_FILE = 'multihead_gpu_simd128_bg.wasm';
// The literal form is what bundlers look for.
export const GPU_URL = new URL('../wasm/multihead_gpu_simd128_bg.wasm', import.meta.url);
