// Who takes part in the embedding benchmark: packages, and the files and settings that they run with.

export const MODEL = 'all-minilm-l6-v2';

/** Where our model lies, and its file of weights, by arithmetic. The int8 one is as `npx multihead models add --int8`
 * writes it. */
export const OURS = {
  float32: { base: '/models/', weights: `/models/${MODEL}/model.safetensors` },
  int8: { base: '/packed/', weights: `/packed/${MODEL}/model.safetensors` },
};

/** Lines of text, and runs, where the command does not say, by device. Without a GPU a sentence of WebGPU takes seconds. */
export const SETTINGS = { cpu: { lines: '100', runs: '3' }, webgpu: { lines: '32', runs: '1' } };

/** What one is told to run on, by arithmetic, in the peer's words. */
const DTYPES = { float32: 'fp32', int8: 'q8' };

const multihead = (precision, device = 'cpu') => ({
  name: `multihead ${precision}`,
  side: 'multihead',
  precision,
  options: { base: OURS[precision].base, model: MODEL, precision, device },
});

const transformers = (precision, build, device = 'wasm') => ({
  name: `transformers ${DTYPES[precision]}, ${build} ONNX Runtime`,
  side: 'transformers',
  precision,
  options: { base: '/peers/', name: 'minilm-onnx', dtype: DTYPES[precision], build, device },
});

/** By device, in the order of the table, ours first. `side`: a file of `page/embedding/engines`. */
export const CONTENDERS = {
  cpu: ['float32', 'int8'].flatMap((precision) => [
    multihead(precision),
    transformers(precision, 'plain'),
    transformers(precision, 'default'),
  ]),
  // The plain build has no WebGPU.
  webgpu: [multihead('float32', 'webgpu'), transformers('float32', 'default', 'webgpu')],
};

/** Of some, whose vectors the others' are compared with. */
export const referenceOf = (contenders) =>
  contenders.find(({ side, precision }) => side === 'transformers' && precision === 'float32');

/** Where each side's package.json is served. */
export const PACKAGES = {
  multihead: '/pkg/package.json',
  transformers: '/benches/node_modules/@huggingface/transformers/package.json',
};

/** How the texts are handed over. */
export const CALLS = [
  { key: 'single', batch: 1, words: 'one at a time' },
  { key: 'batches', batch: 16, words: 'batches of 16' },
];

/** Bytes that our wasm may have grown to for weights of so many bytes. */
export function memoryLimit(weightBytes) {
  return 1.3 * weightBytes;
}

/** Bytes of code, gzipped, and of the int8 files that a first visit may take. */
export const VISIT_LIMIT = 25_000_000;

/** Sentences a second of ours over those of the best peer, at least, by device. */
export const RATIO_WANTED = { cpu: 1.7, webgpu: 1 };

/** Least cosine of a vector and the reference's of the same text: below it, somebody computes something else. */
export const LEAST_COSINE = { float32: 0.9999, int8: 0.98 };
