// Transformers.js on ONNX Runtime, on its wasm or through WebGPU.

import { openTransformers } from '../../transformers.js';

/** `base`, `name`: the folder of the exported model, and its name there; `build`: of ONNX Runtime; `dtype`: which of the
 * model's files; `device`: 'wasm' or 'webgpu'. */
export async function load({ base, name, build, dtype, device, threads }) {
  const { transformers, wasm } = await openTransformers({ base, build, threads });
  const { AutoModelForCausalLM, Tensor } = transformers;
  const model = await AutoModelForCausalLM.from_pretrained(name, { dtype, device });
  const tensor = (/** @type {bigint[]} */ values) => new Tensor('int64', values, [1, values.length]);
  return {
    about: `${device}, ${wasm}`,
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
