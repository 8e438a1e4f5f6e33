// The package's worker of language models in Node, with one thing changed: a prompt that says "trap" makes the wasm trap.

import { writing } from '../../dist/text-host.js';
import { TEXT_MODULES } from '../../dist/text-modules.js';
import { work } from '../../dist/node/node-worker.js';
import { TextHost } from '../../dist/text-host.js';

work(import.meta.url, TEXT_MODULES, (instance) => ({
  ...writing(instance),
  open: (files, options) => {
    const model = new instance.script.TextModel(files, options);
    const encode = model.encode.bind(model);
    model.encode = (parts) => {
      if (parts.some(([text]) => text.includes('trap'))) throw new WebAssembly.RuntimeError('unreachable');
      return encode(parts);
    };
    return new TextHost(model);
  },
}));
