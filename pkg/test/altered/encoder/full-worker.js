// The package's worker of encoders in Node, with an encoder of the tests' own in the place of the wasm's.

import { EncoderHost } from '../../../dist/encoder-host.js';
import { everything } from '../../../dist/full-host.js';
import { FULL_MODULES } from '../../../dist/full-modules.js';
import { work } from '../../../dist/node/node-worker.js';
import { encoder } from '../../fake-encoder.js';

work(import.meta.url, FULL_MODULES, (instance) => ({
  ...everything(instance),
  open: (files, options) => new EncoderHost(encoder(files, options)),
}));
