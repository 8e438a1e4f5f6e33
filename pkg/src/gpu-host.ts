// The worker's side of a GPU: models of all kinds, warmed up as they are loaded.

import { EncoderHost, isOfLetters, LettersHost } from './encoder-host.js';
import type { GpuGlue, Warmed } from './gpu-module.js';
import type { Host, Run } from './host.js';
import type { Answer } from './protocol.js';
import type { Wasm } from './serve.js';
import { TextHost } from './text-host.js';
import { TranslationHost } from './translation-host.js';

/** What a worker of a GPU offers, once its device is there. */
export async function onGpu(script: GpuGlue, memory: WebAssembly.Memory): Promise<Wasm> {
  try {
    await script.startGpu(undefined);
  } catch (thrown) {
    throw asLost(thrown);
  }
  const open: Wasm['open'] = (files, options) => {
    if (isOfLetters(files)) {
      const model = new script.LettersModel(files, options);
      return warmed(new LettersHost(model), model);
    }
    if ('config.json' in files) {
      const model = new script.EncoderModel(files, options);
      return warmed(new EncoderHost(model), model);
    }
    if ('sourceVocab' in files) {
      const model = new script.TranslationModel(files, options);
      return warmed(new TranslationHost(model), model);
    }
    const model = new script.TextModel(files, options);
    return warmed(new TextHost(model), model);
  };
  return { memory, gpuBytes: () => script.gpuBytes(), computes: Promise.resolve('GPU'), open };
}

/** Without a device it is the same to the page as after its loss: another place is looked for. */
function asLost(thrown: unknown): unknown {
  const isUnavailable =
    typeof thrown === 'object' && thrown !== null && 'code' in thrown && thrown.code === 'gpu-unavailable';
  return isUnavailable ? { ...thrown, code: 'device-lost' } : thrown;
}

function warmed(host: Host, model: Warmed): Host {
  return Object.assign(host, {
    warmUp: (loaded: Answer): Run => {
      let [total, left] = [0, 1];
      return {
        get done() {
          return left === 0;
        },
        get completed() {
          return total === 0 ? 0 : Math.floor(100 * (1 - left / total));
        },
        step: async () => {
          left = await model.warmUp();
          total ||= left + 1;
        },
        piece: () => '',
        finish: () => ({ answer: loaded, transfer: [] }),
        free: () => undefined,
      };
    },
  });
}
