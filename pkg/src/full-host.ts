// What the worker that can do everything makes of a model's files.

import { EncoderHost, isEncoder } from './encoder-host.js';
import type { FullGlue } from './full-modules.js';
import type { Instance } from './instance.js';
import type { Wasm } from './serve.js';
import { TextHost } from './text-host.js';

/** What the worker of language models and encoders offers. */
export function everything({ memory, script, computes }: Instance<FullGlue>): Wasm {
  const open: Wasm['open'] = (files, options) =>
    isEncoder(files)
      ? new EncoderHost(new script.EncoderModel(files, options))
      : new TextHost(new script.TextModel(files, options));
  return { memory, computes, open };
}
