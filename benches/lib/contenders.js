// Who takes part in the generation benchmark: packages, and the files and settings that they run with.

const GGUF = {
  Q4_1: '/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf',
  Q8_0: '/peers/smollm2-q8_0.gguf',
  Q4_0: '/peers/smollm2-q4_0.gguf',
};

/** Positions that an engine is told to have room for: prompt, answer and some. */
const CONTEXT = 1024;

/** What is measured, by device: tokens in and out, lines of text that a prompt is cut from, and how often and with how many
 * threads where the command does not say. Without a GPU a token of WebGPU takes seconds. */
export const SETTINGS = {
  cpu: { promptTokens: 256, newTokens: 64, linesPerPrompt: 14, runs: '5', threads: '1,2' },
  webgpu: { promptTokens: 32, newTokens: 16, linesPerPrompt: 2, runs: '1', threads: '1' },
};

/** The file that our side runs. */
export const OURS = GGUF.Q4_1;

/** Bytes that our wasm may have grown to: the file and a quarter, keys and values of so many tokens (30 layers, 3 heads of
 * 64 float32 each), 16 MB. */
export function memoryLimit(fileBytes, tokens) {
  return 1.25 * fileBytes + tokens * 30 * 2 * 3 * 64 * 4 + 16_000_000;
}

const multihead = (device) => ({
  name: 'multihead Q4_1',
  side: 'multihead',
  options: { file: OURS, context: CONTEXT, device },
});

const wllama = (side, format, device = 'cpu') => ({
  name: `${side} ${format}`,
  side,
  options: { file: GGUF[format], context: CONTEXT, device },
});

const transformers = (dtype, build, device = 'wasm') => ({
  name: `transformers ${dtype}, ${build} ONNX Runtime`,
  side: 'transformers',
  options: { base: '/peers/', name: 'smollm2-onnx', dtype, build, device },
});

/** By device, in the order of the table, ours first. `side`: a file of `page/generation/engines`; `isPartly`: it leaves much
 * to the CPU, and ours is not compared with it. */
export const CONTENDERS = {
  cpu: [
    multihead('cpu'),
    wllama('wllama', 'Q8_0'),
    wllama('wllama', 'Q4_0'),
    wllama('wllama', 'Q4_1'),
    wllama('wllama-newest', 'Q8_0'),
    wllama('wllama-newest', 'Q4_0'),
    wllama('wllama-newest', 'Q4_1'),
    transformers('q8', 'plain'),
    transformers('q8', 'default'),
  ],
  // The plain build, and wllama 2, have no WebGPU.
  webgpu: [
    multihead('webgpu'),
    transformers('q4', 'default', 'webgpu'),
    transformers('fp32', 'default', 'webgpu'),
    // ONNX Runtime has no kernels in WebGPU for int8 products of this kind, and so computes them on the CPU.
    { ...transformers('q8', 'default', 'webgpu'), isPartly: true },
    wllama('wllama-newest', 'Q4_1', 'webgpu'),
  ],
};

/** Where each side's package.json is served. */
export const PACKAGES = {
  multihead: '/pkg/package.json',
  wllama: '/benches/node_modules/@wllama/wllama/package.json',
  'wllama-newest': '/benches/node_modules/wllama-newest/package.json',
  transformers: '/benches/node_modules/@huggingface/transformers/package.json',
};
