// Transformers.js on ONNX Runtime's wasm.

const RUNTIME = '/benches/node_modules/onnxruntime-web/dist';

/** Builds of ONNX Runtime: the one that Transformers.js takes unasked, which can do WebGPU as well, and the plain one. */
const BUILDS = {
  default: { script: 'ort.webgpu.bundle.min.mjs', wasm: 'ort-wasm-simd-threaded.asyncify' },
  plain: { script: 'ort.wasm.bundle.min.mjs', wasm: 'ort-wasm-simd-threaded' },
};

/** `base`, `name`: the folder of the exported model, and its name there; `build`: of `BUILDS`. */
export async function load({ base, name, build, threads }) {
  const { script, wasm } = BUILDS[build];
  const runtime = `${RUNTIME}/${script}`;
  const imports = { 'onnxruntime-web/webgpu': runtime, 'onnxruntime-common': runtime };
  const map = Object.assign(document.createElement('script'), {
    type: 'importmap',
    textContent: JSON.stringify({ imports }),
  });
  document.head.append(map);
  const { AutoModelForCausalLM, Tensor, env } =
    await import('/benches/node_modules/@huggingface/transformers/dist/transformers.web.min.js');
  Object.assign(env, {
    allowRemoteModels: false,
    allowLocalModels: true,
    localModelPath: base,
    useBrowserCache: false,
  });
  const { onnx } = env.backends;
  onnx.wasm.numThreads = threads;
  onnx.wasm.wasmPaths = { mjs: `${RUNTIME}/${wasm}.mjs`, wasm: `${RUNTIME}/${wasm}.wasm` };
  const model = await AutoModelForCausalLM.from_pretrained(name, { dtype: 'q8', device: 'wasm' });
  const tensor = (/** @type {bigint[]} */ values) => new Tensor('int64', values, [1, values.length]);
  return {
    about: `${wasm}.wasm`,
    async stream({ ids }, count, onToken) {
      let calls = 0;
      const streamer = {
        // The prompt comes first.
        put() {
          if (calls > 0) onToken();
          calls += 1;
        },
        end() {},
      };
      const output = await model.generate({
        inputs: tensor(ids.map(BigInt)),
        attention_mask: tensor(ids.map(() => 1n)),
        do_sample: false,
        max_new_tokens: count,
        min_new_tokens: count,
        streamer,
      });
      const written = [...output.data].slice(ids.length).join(' ');
      return { promptTokens: ids.length, newTokens: output.dims[1] - ids.length, text: written };
    },
  };
}
