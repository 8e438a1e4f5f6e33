// The package's worker of encoders in Node, with an encoder of the tests' own in the place of the wasm's.

import { EncoderHost } from '../../../dist/encoder-host.js';
import { understanding } from '../../../dist/encoder-host.js';
import { ENCODER_MODULES } from '../../../dist/encoder-modules.js';
import { work } from '../../../dist/node/node-worker.js';
import { encoder } from '../../fake-encoder.js';

work(import.meta.url, ENCODER_MODULES, (instance) => ({
  ...understanding(instance),
  open: (files, options) => new EncoderHost(encoder(files, options)),
}));
