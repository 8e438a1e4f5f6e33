// Transformers.js on a build of ONNX Runtime's wasm, for pages of the benchmarks.

const RUNTIME = '/benches/node_modules/onnxruntime-web/dist';

/** Builds of ONNX Runtime: the one that Transformers.js takes unasked, which can do WebGPU as well, and the plain one. */
const BUILDS = {
  default: { script: 'ort.webgpu.bundle.min.mjs', wasm: 'ort-wasm-simd-threaded.asyncify' },
  plain: { script: 'ort.wasm.bundle.min.mjs', wasm: 'ort-wasm-simd-threaded' },
};

/** The package, set up to take models from the folder at `base`, and the wasm file that it computes with. `build`: of
 * `BUILDS`; a page can have one only. */
export async function openTransformers({ base, build, threads }) {
  const { script, wasm } = BUILDS[build];
  const runtime = `${RUNTIME}/${script}`;
  const imports = { 'onnxruntime-web/webgpu': runtime, 'onnxruntime-common': runtime };
  const map = Object.assign(document.createElement('script'), {
    type: 'importmap',
    textContent: JSON.stringify({ imports }),
  });
  document.head.append(map);
  const transformers =
    await import('/benches/node_modules/@huggingface/transformers/dist/transformers.web.min.js');
  Object.assign(transformers.env, {
    allowRemoteModels: false,
    allowLocalModels: true,
    localModelPath: base,
    useBrowserCache: false,
  });
  const { onnx } = transformers.env.backends;
  onnx.wasm.numThreads = threads;
  onnx.wasm.wasmPaths = { mjs: `${RUNTIME}/${wasm}.mjs`, wasm: `${RUNTIME}/${wasm}.wasm` };
  return { transformers, wasm: `${wasm}.wasm` };
}
