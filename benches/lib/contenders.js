// Who takes part in the generation benchmark: packages, and the files and settings that they run with.

const GGUF = {
  Q4_1: '/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf',
  Q8_0: '/peers/smollm2-q8_0.gguf',
  Q4_0: '/peers/smollm2-q4_0.gguf',
};

/** Positions that an engine is told to have room for: prompt, answer and some. */
const CONTEXT = 1024;

/** The file that our side runs. */
export const OURS = GGUF.Q4_1;

/** Bytes that our wasm may have grown to: the file and a quarter, keys and values of so many tokens (30 layers, 3 heads of
 * 64 float32 each), 16 MB. */
export function memoryLimit(fileBytes, tokens) {
  return 1.25 * fileBytes + tokens * 30 * 2 * 3 * 64 * 4 + 16_000_000;
}

const wllama = (side, format) => ({
  name: `${side} ${format}`,
  side,
  options: { file: GGUF[format], context: CONTEXT },
});

const transformers = (build) => ({
  name: `transformers q8, ${build} ONNX Runtime`,
  side: 'transformers',
  options: { base: '/peers/', name: 'smollm2-onnx', build },
});

/** In the order of the table, ours first. `side`: a file of `page/generation/engines`. */
export const CONTENDERS = [
  { name: 'multihead Q4_1', side: 'multihead', options: { file: OURS, context: CONTEXT } },
  wllama('wllama', 'Q8_0'),
  wllama('wllama', 'Q4_0'),
  wllama('wllama', 'Q4_1'),
  wllama('wllama-newest', 'Q8_0'),
  wllama('wllama-newest', 'Q4_0'),
  wllama('wllama-newest', 'Q4_1'),
  transformers('plain'),
  transformers('default'),
];

/** Where each side's package.json is served. */
export const PACKAGES = {
  multihead: '/pkg/package.json',
  wllama: '/benches/node_modules/@wllama/wllama/package.json',
  'wllama-newest': '/benches/node_modules/wllama-newest/package.json',
  transformers: '/benches/node_modules/@huggingface/transformers/package.json',
};
