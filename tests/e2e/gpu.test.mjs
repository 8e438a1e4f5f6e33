// Models on WebGPU, in Chromium on its own software adapter: what they answer, what they ask of the GPU, and what happens
// when it fails.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cosine, MINILM } from '../../pkg/test/encoder-fixtures.js';
import { inChromium } from './chromium.mjs';

const { server, blank } = inChromium({});

/** @typedef {import('./globals.js').GpuCounts} Counts */

/** A page whose worker of GPUs is watched. @param {string} [folder] The worker's. */
async function watched(folder = 'gpu') {
  const visit = await blank();
  await visit.page.evaluate((url) => {
    multihead.configure({ workerUrl: url });
    const channel = new BroadcastChannel('gpu');
    globalThis.gpu = {
      counts: () =>
        new Promise((resolve) => {
          channel.addEventListener('message', ({ data }) => resolve(data), { once: true });
          channel.postMessage('counts');
        }),
      loseAfter: (submits) => channel.postMessage(submits),
    };
  }, `/tests/e2e/${folder}/worker.js`);
  return visit;
}

/** A small encoder that is served with the tests. */
const FILES = Object.fromEntries(
  [
    'config.json',
    'model.safetensors',
    'modules.json',
    'sentence_bert_config.json',
    'special_tokens_map.json',
    'tokenizer.json',
    'tokenizer_config.json',
    '1_Pooling/config.json',
    '2_Dense/config.json',
    '2_Dense/model.safetensors',
  ].map((name) => [name, `/tests/fixtures/encoders/bert-embed/${name}`]),
);

/** @param {Counts} before @param {Counts} after */
const between = (before, after) => ({
  dispatches: after.dispatches - before.dispatches,
  submits: after.submits - before.submits,
  reads: after.reads - before.reads,
  pipelines: after.pipelines - before.pipelines,
  groups: after.groups - before.groups,
});

/** Requests of the server that are about GPUs. @param {readonly string[]} requests */
const ofGpus = (requests) => requests.filter((path) => /gpu/.test(path));

test("device: 'cpu' never touches navigator.gpu, and nothing of GPUs is fetched", async () => {
  const { page, close } = await blank();
  const start = server().state.requests.length;
  const told = await page.evaluate(async (files) => {
    let touched = false;
    const trap = () => {
      touched = true;
      throw new Error('navigator.gpu was touched');
    };
    Object.defineProperty(Navigator.prototype, 'gpu', { get: trap });
    /** @type {(import('../../pkg/dist/types.js').LoadedInfo)[]} */
    const models = [
      await multihead.Translator.create({ sourceLanguage: 'en', targetLanguage: 'pt', device: 'cpu' }),
      // Where nothing is said of it, text that is translated stays there as well.
      await multihead.Translator.create({ sourceLanguage: 'en', targetLanguage: 'pt' }),
      await multihead.Embedder.create({ model: { files }, device: 'cpu' }),
    ];
    const devices = models.map(({ device }) => device);
    return { devices, reasons: models.map(({ deviceReason }) => deviceReason), touched };
  }, FILES);
  assert.deepEqual([told.devices, told.touched], [['cpu', 'cpu', 'cpu'], false]);
  assert.match(told.reasons[0] ?? '', /^relaxed SIMD, 2 threads$/);
  assert.match(told.reasons[1] ?? '', /many texts at once only/);
  assert.deepEqual(ofGpus(server().state.requests.slice(start)), []);
  await close();
});

test('software is no GPU where the choice is left open, and its wasm is not fetched', async () => {
  const { page, close } = await blank();
  const start = server().state.requests.length;
  const { device, deviceReason } = await page.evaluate(async () => {
    const model = await multihead.Embedder.create();
    return { device: model.device, deviceReason: model.deviceReason };
  });
  assert.equal(device, 'cpu');
  assert.match(deviceReason, /SIMD.*; the browser's GPU \(google swiftshader\) is software/);
  assert.deepEqual(ofGpus(server().state.requests.slice(start)), ['/pkg/dist/gpu.js']);
  await close();
});

test('without an adapter the CPU computes, and says why', async () => {
  const { page, close } = await blank();
  const told = await page.evaluate(async (files) => {
    GPU.prototype.requestAdapter = () => Promise.resolve(null);
    const none = await multihead.Embedder.create({ model: { files }, device: 'webgpu' });
    GPU.prototype.requestAdapter = () => Promise.reject(new Error('not today'));
    const broken = await multihead.Embedder.create({ model: { files }, device: 'auto' });
    return [none.device, none.deviceReason, broken.device, broken.deviceReason];
  }, FILES);
  assert.deepEqual([told[0], told[2]], ['cpu', 'cpu']);
  assert.match(told[1] ?? '', /no GPU to give/);
  assert.match(told[3] ?? '', /not today/);
  await close();
});

test('where the part about GPUs is not served, the CPU computes, and says why', async () => {
  const { page, close } = await blank();
  server().state.fault = (_, response, path) => {
    if (!path.endsWith('/gpu.js')) return false;
    response.writeHead(404).end();
    return true;
  };
  const told = await page.evaluate(async (files) => {
    const model = await multihead.Embedder.create({ model: { files }, device: 'webgpu' });
    return [model.device, model.deviceReason];
  }, FILES);
  assert.equal(told[0], 'cpu');
  assert.match(told[1] ?? '', /; gpu\.js could not be loaded/);
  await close();
});

test('the entry without GPU code computes on the CPU whatever is asked for', async () => {
  const { page, close } = await blank();
  const start = server().state.requests.length;
  const told = await page.evaluate(async (files) => {
    const address = new URL('/pkg/dist/cpu.js', location.href).href;
    // Its modules are those of the other entry, which this page has not imported yet: another document has its own.
    const frame = document.body.appendChild(document.createElement('iframe'));
    frame.src = '/tests/e2e/blank.html?cpu';
    await new Promise((resolve) => frame.addEventListener('load', resolve, { once: true }));
    const run = /** @type {{ Function: FunctionConstructor }} */ (
      /** @type {unknown} */ (frame.contentWindow)
    );
    const load = run.Function('address', 'return import(address)');
    const cpu = /** @type {typeof multihead} */ (await load(address));
    const model = await cpu.Embedder.create({ model: { files }, device: 'webgpu' });
    return [model.device, model.deviceReason, typeof cpu.translate, typeof cpu.LanguageModel];
  }, FILES);
  assert.equal(told[0], 'cpu');
  assert.match(told[1] ?? '', /no GPU code/);
  assert.deepEqual(told.slice(2), ['function', 'function']);
  assert.deepEqual(ofGpus(server().state.requests.slice(start)), []);
  await close();
});

/** @type {ReturnType<typeof watched> | undefined} */
let warm;

/** One page for the next five tests, one after the other: warming up a GPU that is software takes most of their time. */
function warmed() {
  warm ??= watched();
  return warm;
}

test('GPU bytes are flat over 200 calls and 20 models that come and go', async () => {
  const { page } = await warmed();
  const told = await page.evaluate(async (files) => {
    const options = /** @type {const} */ ({ model: { files }, device: 'webgpu' });
    const holder = await multihead.Embedder.create(options);
    const bytes = async () => (await multihead.memoryUsage()).gpu;
    const texts = ['one', 'two words', 'three words here'];
    for (let call = 0; call < 3; call++) await holder.embed(texts);
    const [first, counts] = [await bytes(), await gpu.counts()];
    for (let call = 0; call < 200; call++) await holder.embed(texts);
    const [after, later] = [await bytes(), await gpu.counts()];
    /** @type {number[]} */
    const loops = [];
    for (let loop = 0; loop < 20; loop++) {
      // Pooled otherwise it would be the same model, which is shared.
      const other = await multihead.Embedder.create({ ...options, threads: 1 + (loop % 2) });
      await other.embed(texts);
      other.destroy();
      await holder.embed(texts);
      loops.push(await bytes());
    }
    const answer = await holder.embed('one');
    return {
      first,
      after,
      loops,
      made: later.pipelines - counts.pipelines,
      devices: later.devices,
      length: answer.length,
    };
  }, FILES);
  assert.equal(told.after, told.first);
  assert.equal(told.made, 0);
  assert.equal(told.devices, 1, 'models share the device');
  assert(told.length > 0, 'the model that stays still answers');
  // Rooms that nobody has asked for in a while are given back; none is added.
  const [early = 0, ...others] = told.loops.slice(2);
  assert(
    others.every((bytes) => bytes <= early),
    told.loops.join(),
  );
});

test('an encoder on the GPU: vectors, dispatches, and bytes that stay', async () => {
  const { page } = await warmed();
  const texts = MINILM.odd.filter(({ text }) => text.length < 40).map(({ text }) => text);
  const told = await page.evaluate(async (all) => {
    /** @type {number[]} */
    const progress = [];
    const model = await multihead.Embedder.create({
      device: 'webgpu',
      monitor: (monitor) => {
        monitor.addEventListener('downloadprogress', ({ loaded }) => progress.push(loaded));
      },
    });
    const loaded = await gpu.counts();
    const vectors = await model.embed(all);
    const { gpu: first } = await multihead.memoryUsage();
    const before = await gpu.counts();
    const one = await model.embed([all[2] ?? '']);
    const after = await gpu.counts();
    const { gpu: bytes } = await multihead.memoryUsage();
    const { device, deviceReason, precision } = model;
    model.destroy();
    return {
      vectors: vectors.map((vector) => [...vector]),
      one: one.map((vector) => [...vector]),
      all: [device, deviceReason, precision],
      progress,
      loaded,
      before,
      after,
      bytes: [first, bytes],
    };
  }, texts);
  assert.deepEqual(told.all, ['webgpu', 'google swiftshader, which is software', 'float32']);
  assert.deepEqual([told.progress[0], told.progress.at(-1)], [0, 1]);
  assert(
    told.progress.some((fraction) => fraction > 0.9 && fraction < 1),
    'warming up is part of it',
  );
  const odd = MINILM.odd.filter(({ text }) => text.length < 40);
  for (const [place, { text, vector }] of odd.entries()) {
    assert(cosine(told.vectors[place] ?? [], vector) >= 0.9999, text);
  }
  assert(cosine(told.one[0] ?? [], odd[2]?.vector ?? []) >= 0.9999, 'alone');
  const { dispatches, submits, reads } = between(told.before, told.after);
  assert(dispatches > 0 && dispatches <= 60, `${dispatches} dispatches`);
  assert.deepEqual([submits, reads], [1, 1]);
  assert.equal(told.after.pipelines, told.loaded.pipelines, 'no pipeline is made after the warm-up');
  const [first = 0, bytes = NaN] = told.bytes;
  // Rooms that the test before has left may be given back.
  assert(bytes <= first, `${bytes} bytes on the GPU after ${first}`);
  assert(first > 91_000_000 && first < 1.3 * 91_336_289, `${first} bytes on the GPU`);
});

test('a translation on the GPU is that of the float32 path; eight steps a read', async () => {
  const { page } = await warmed();
  const lines = [
    'The cat sleeps on the warm stones.',
    'He went to the market to buy bread, cheese and some apples for his grandmother.',
  ];
  const told = await page.evaluate(async (all) => {
    const options = { sourceLanguage: 'en', targetLanguage: 'pt' };
    const cpu = await multihead.Translator.create({ ...options, device: 'cpu', precision: 'float32' });
    const expected = [];
    let tokens = 0;
    for (const line of all) {
      const { text, sentences } = await cpu.translateDetailed(line);
      expected.push(text);
      tokens = sentences[0]?.targetTokens.length ?? 0;
    }
    const model = await multihead.Translator.create({ ...options, device: 'webgpu' });
    const loaded = await gpu.counts();
    const got = [];
    const marks = [loaded];
    for (const line of all) {
      got.push(await model.translate(line));
      marks.push(await gpu.counts());
    }
    const looks = [];
    for (const translator of [cpu, model]) {
      const { sentences } = await translator.translateDetailed(all[0] ?? '', { attention: true });
      const { encoder, cross } = sentences[0]?.attention ?? {};
      looks.push([encoder, cross].map((kind) => [...(kind?.weights ?? [])]));
    }
    return { expected, got, marks, looks, tokens, device: model.device };
  }, lines);
  assert.equal(told.device, 'webgpu');
  assert.deepEqual(told.got, told.expected);
  const [ofCpu, ofGpu] = told.looks;
  for (const [kind, weights] of ofCpu?.entries() ?? []) {
    const others = ofGpu?.[kind] ?? [];
    assert(weights.length > 100 && weights.length === others.length);
    const most = Math.max(...weights.map((weight, index) => Math.abs(weight - (others[index] ?? 1))));
    assert(most <= 1e-3, `what kind ${kind} looks at: ${most}`);
  }
  const [loaded, first, second] = told.marks;
  assert(loaded !== undefined && first !== undefined && second !== undefined);
  const { dispatches, reads } = between(first, second);
  // The encoder's and the steps'; eight steps are taken where fewer would have done.
  const steps = 8 * Math.ceil((told.tokens + 1) / 8);
  assert(dispatches <= 30 * steps + 60, `${dispatches} dispatches for ${told.tokens} tokens`);
  assert(reads <= steps / 8 + 1, `${reads} reads for ${told.tokens} tokens`);
  assert.equal(second.pipelines, loaded.pipelines, 'no pipeline is made after the warm-up');
});

test('models over letters on the GPU write and look as on the CPU', async () => {
  const { page } = await warmed();
  const told = await page.evaluate(async () => {
    const looks = [];
    for (const [name, text] of [
      ['dates', 'may 3rd, 2026'],
      ['reverse-additive', 'attention'],
    ]) {
      const model = new URL(`/lesson/models/${name}/`, location.href).href;
      for (const device of /** @type {const} */ (['cpu', 'webgpu'])) {
        const info = await multihead.warmup({ model, device });
        const options = { model, device, attention: true, candidates: 1 };
        const { candidates } = await multihead.transliterate(text ?? '', options);
        const { encoder, decoder, cross } = candidates[0]?.attention ?? {};
        const weights = [encoder, decoder, cross].map((kind) => [...(kind?.weights ?? [])]);
        looks.push({ device: info.device, text: candidates[0]?.text, weights });
      }
      await multihead.unload(model);
    }
    return { looks, left: (await multihead.memoryUsage()).models.map(({ id }) => id) };
  });
  assert.deepEqual(
    told.looks.map(({ device, text }) => [device, text]),
    [
      ['cpu', '2026-05-03'],
      ['webgpu', '2026-05-03'],
      ['cpu', 'noitnetta'],
      ['webgpu', 'noitnetta'],
    ],
  );
  for (const [place, { weights }] of told.looks.entries()) {
    const ofCpu = told.looks[place - (place % 2)]?.weights.flat() ?? [];
    const own = weights.flat();
    assert(own.length > 50 && own.length === ofCpu.length);
    const most = Math.max(...own.map((weight, index) => Math.abs(weight - (ofCpu[index] ?? 1))));
    assert(most <= 1e-3, `what is looked at: ${most}`);
  }
  assert(!told.left.some((id) => /dates|reverse/.test(id)), told.left.join());
});

test('a device that is lost: the call is asked again on another, then on the CPU', async () => {
  const { page, close } = await warmed();
  const told = await page.evaluate(async (files) => {
    const options = /** @type {const} */ ({ model: { files } });
    const cpu = await multihead.Embedder.create({ ...options, device: 'cpu' });
    const model = await multihead.Embedder.create({ ...options, device: 'webgpu' });
    const texts = ['one', 'two words', 'three words here'];
    const expected = await cpu.embed(texts);
    /** @type {{ device: string, reason: string, nearest: number }[]} */
    const seen = [];
    const ask = async () => {
      const vectors = await model.embed(texts);
      const distance = vectors.flatMap((vector, place) =>
        [...vector].map((value, at) => Math.abs(value - (expected[place]?.[at] ?? NaN))),
      );
      seen.push({ device: model.device, reason: model.deviceReason, nearest: Math.max(...distance) });
    };
    await ask();
    for (let loss = 0; loss < 2; loss++) {
      gpu.loseAfter(1);
      await gpu.counts();
      await ask();
    }
    await ask();
    return seen;
  }, FILES);
  assert.deepEqual(
    told.map(({ device }) => device),
    ['webgpu', 'webgpu', 'cpu', 'cpu'],
  );
  assert.match(told[2]?.reason ?? '', /lost twice/);
  for (const { nearest } of told) assert(nearest < 1e-4, `${nearest}`);
  await close();
});

test('a GPU that computes wrongly is refused, with its reason', async () => {
  const { page, close } = await watched('wrong-gpu');
  const told = await page.evaluate(async (files) => {
    const model = await multihead.Embedder.create({ model: { files }, device: 'webgpu' });
    return [model.device, model.deviceReason];
  }, FILES);
  assert.equal(told[0], 'cpu');
  assert.match(told[1] ?? '', /the GPU cannot be used: .*computes wrong: .* gave -?\d/);
  await close();
});

/** A token of it takes seconds where the GPU is software, and a run minutes. */
const WHOLE = process.env['MULTIHEAD_GPU_WHOLE'] === '1';
const skip = WHOLE ? false : 'it takes minutes on software; MULTIHEAD_GPU_WHOLE=1 runs it';

test('SmolLM2 on the GPU: dispatches, submits and reads of a token', { skip }, async () => {
  const { page, close } = await watched();
  const told = await page.evaluate(async () => {
    const model = await multihead.LanguageModel.create({ device: 'webgpu', temperature: 0 });
    const loaded = await gpu.counts();
    const { text } = await model.complete('Hello', { temperature: 0, maxNewTokens: 8 });
    const before = await gpu.counts();
    // One more token is read, and sixteen are written.
    const { text: more, tokens } = await model.complete(`Hello${text}`, { temperature: 0, maxNewTokens: 16 });
    return {
      loaded,
      before,
      after: await gpu.counts(),
      text,
      more,
      tokens: tokens.length,
      device: model.device,
    };
  });
  assert.equal(told.device, 'webgpu');
  assert.equal(told.tokens, 16);
  const { dispatches, submits, reads, pipelines, groups } = between(told.before, told.after);
  assert(dispatches <= 190 * 16 + 30, `${dispatches} dispatches`);
  assert(submits <= 16 && reads <= 3, `${submits} submits, ${reads} reads`);
  assert.equal(pipelines, 0);
  assert.equal(told.after.pipelines, told.loaded.pipelines, 'no pipeline is made after the warm-up');
  assert(groups < 16, `${groups} bind groups for 16 tokens`);
  await close();
});
