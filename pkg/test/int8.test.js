// Encoders with their matrices quantised, as `multihead models add --int8` writes them: each integer by hand, and the folder.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { indexed, quantised } from '../dist/node/models/int8.js';

const CLI = fileURLToPath(new URL('../dist/node/cli.js', import.meta.url));

/** @typedef {[dtype: string, shape: number[], bytes: Uint8Array]} Tensor */

/** A safetensors file. @param {Record<string, Tensor>} tensors @param {object} [metadata] */
function safetensors(tensors, metadata) {
  let length = 0;
  /** @type {Record<string, unknown>} */
  const head = metadata === undefined ? {} : { __metadata__: metadata };
  for (const [name, [dtype, shape, bytes]] of Object.entries(tensors)) {
    head[name] = { dtype, shape, data_offsets: [length, (length += bytes.length)] };
  }
  const text = Buffer.from(JSON.stringify(head));
  const start = Buffer.alloc(8);
  start.writeBigUInt64LE(BigInt(text.length));
  return new Uint8Array(Buffer.concat([start, text, ...Object.values(tensors).map(([, , bytes]) => bytes)]));
}

/** The tensors of a file. @param {Uint8Array} file */
function tensorsOf(file) {
  const bytes = Buffer.from(file);
  const end = 8 + Number(bytes.readBigUInt64LE());
  assert.equal(end % 8, 0, 'data begins at a multiple of eight');
  /** @type {Record<string, { dtype: string, shape: number[], data_offsets: [number, number] }>} */
  const head = JSON.parse(bytes.subarray(8, end).toString());
  const { __metadata__: metadata, ...entries } = head;
  /** @type {Map<string, Tensor>} */
  const tensors = new Map();
  let next = 0;
  for (const [name, { dtype, shape, data_offsets: offsets }] of Object.entries(entries)) {
    const [from, to] = offsets;
    assert.equal(from, next, 'without gaps');
    next = to;
    tensors.set(name, [dtype, shape, bytes.subarray(end + from, end + to)]);
  }
  assert.equal(end + next, bytes.length);
  return { tensors, metadata };
}

/** @param {readonly number[]} values @returns {Uint8Array} */
const f32 = (values) => new Uint8Array(Float32Array.from(values).buffer);
/** @param {readonly number[]} bits @returns {Uint8Array} */
const u16 = (bits) => new Uint8Array(Uint16Array.from(bits).buffer);
/** @param {Uint8Array | undefined} bytes */
const floats = (bytes) => [...new Float32Array(Uint8Array.from(bytes ?? []).buffer)];
/** @param {Uint8Array | undefined} bytes */
const integers = (bytes) => [...new Int8Array(Uint8Array.from(bytes ?? []).buffer)];

/** Values whose rows have largest magnitudes of 127, 254 and 63.5. */
const MATRIX = f32([127, -1, 0.4, 254, -254, 5, -63.5, 0.5, 31.5]);
const KEPT = {
  /** @type {Tensor} */
  'layer.bias': ['F32', [3], f32([1, 2, 3])],
  /** @type {Tensor} */
  'LayerNorm.weight': ['F32', [2], f32([1, 2])],
  /** @type {Tensor} */
  'encoder.relative_attention_bias.weight': ['F32', [2, 2], f32([1, 2, 3, 4])],
  /** @type {Tensor} */
  'embeddings.position_embeddings.weight': ['F32', [2, 2], f32([5, 6, 7, 8])],
  /** @type {Tensor} */
  'embeddings.token_type_embeddings.weight': ['F32', [1, 2], f32([9, 10])],
  /** @type {Tensor} */
  'embeddings.position_ids': ['I64', [1, 2], new Uint8Array(16)],
};

test('matrices become integers with a factor a row, everything else stays', () => {
  const { content, added } = quantised(
    'model.safetensors',
    safetensors({ 'a.weight': ['F32', [3, 3], MATRIX], ...KEPT }, { format: 'pt' }),
  );
  const { tensors, metadata } = tensorsOf(content);
  assert.deepEqual(metadata, { format: 'pt' });
  assert.deepEqual(added, ['a.weight_scale']);
  assert.deepEqual(tensors.get('a.weight')?.slice(0, 2), ['I8', [3, 3]]);
  assert.deepEqual(integers(tensors.get('a.weight')?.[2]), [127, -1, 0, 127, -127, 3, -127, 1, 63]);
  assert.deepEqual(tensors.get('a.weight_scale')?.slice(0, 2), ['F32', [3, 1]]);
  assert.deepEqual(floats(tensors.get('a.weight_scale')?.[2]), [1, 2, 0.5]);
  for (const [name, [dtype, shape, bytes]] of Object.entries(KEPT)) {
    const [type, dims, data] = tensors.get(name) ?? [];
    assert.deepEqual([type, dims, Buffer.from(data ?? [])], [dtype, shape, Buffer.from(bytes)], name);
  }
  assert.equal(tensors.size, 8);
  assert.deepEqual(quantised('model.safetensors', content), { content, added: [] }, 'twice is once');
});

test('halves of both kinds are read, their smallest numbers too', () => {
  // 1.0, -0.25, 2 ** -24, 65504: numbers of IEEE 754's binary16.
  const half = u16([0x3c00, 0xb400, 0x0001, 0x7bff]);
  // 1.0, -0.25, 127.0, 0: the upper halves of float32's.
  const brain = u16([0x3f80, 0xbe80, 0x42fe, 0]);
  const { content } = quantised(
    'x',
    safetensors({ 'h.weight': ['F16', [2, 2], half], 'b.weight': ['BF16', [2, 2], brain] }),
  );
  const { tensors } = tensorsOf(content);
  assert.deepEqual(floats(tensors.get('h.weight_scale')?.[2]), [1 / 127, 65504 / 127].map(Math.fround));
  assert.deepEqual(integers(tensors.get('h.weight')?.[2]), [127, -32, 0, 127]);
  assert.deepEqual(floats(tensors.get('b.weight_scale')?.[2]), [Math.fround(1 / 127), 1]);
  assert.deepEqual(integers(tensors.get('b.weight')?.[2]), [127, -32, 127, 0]);
});

test('a row of nothing, or of next to nothing, has a factor with an inverse', () => {
  // 1e-37 / 127 is a float32; one over it is more than any.
  const { tensors } = tensorsOf(
    quantised('x', safetensors({ 'a.weight': ['F32', [2, 2], f32([0, 0, 1e-37, 0])] })).content,
  );
  assert.deepEqual(floats(tensors.get('a.weight_scale')?.[2]), [1, 1]);
  assert.deepEqual(integers(tensors.get('a.weight')?.[2]), [0, 0, 0, 0]);
});

test('what is no safetensors file is told', () => {
  const fine = safetensors({ 'a.weight': ['F32', [1, 2], f32([1, 2])] });
  const huge = fine.slice();
  huge.fill(0xff, 0, 8);
  /** @type {[Uint8Array<ArrayBuffer>, RegExp][]} */
  const cases = [
    [fine.slice(0, 5), /too short/],
    [huge, /its head is to have 18446744073709551615 bytes/],
    [fine.slice(0, -1), /a\.weight has its data at \[0, 8\] of 7 bytes/],
    [safetensors({ 'a.weight': ['F32', [3, 2], f32([1, 2])] }), /a\.weight has its data at/],
    [safetensors({ 'a.weight': ['F32', [1, 2], f32([1, NaN])] }), /a\.weight has a value that is no number/],
    [safetensors({ 'a.weight': /** @type {any} */ ([5, [1, 2], f32([1, 2])]) }), /a\.weight lacks dtype/],
    [new Uint8Array(Buffer.from('\x04\0\0\0\0\0\0\0null')), /no object of JSON/],
  ];
  for (const [content, message] of cases) {
    assert.throws(() => quantised('model.safetensors', content), { code: 'model-corrupt', message });
  }
  assert.throws(() => indexed('i', new Uint8Array(2), new Map()), { code: 'model-corrupt' });
});

let root = '';
/** The folder of a model, as it is published. */
let source = '';
before(() => {
  root = mkdtempSync(join(tmpdir(), 'multihead-int8-'));
  source = join(root, 'Tiny.Model');
  mkdirSync(join(source, '1_Pooling'), { recursive: true });
  writeFileSync(join(source, 'config.json'), '{}');
  writeFileSync(join(source, 'tokenizer.json'), ' '.repeat(10_000));
  writeFileSync(join(source, 'modules.json'), JSON.stringify([{ path: '1_Pooling', type: 'Pooling' }]));
  writeFileSync(join(source, '1_Pooling', 'config.json'), '{"pooling_mode_mean_tokens":true}');
});
after(() => {
  rmSync(root, { recursive: true });
});

/** @param {string[]} args */
function run(...args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, 'models', ...args], {
    cwd: root,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

/** @param {string} folder */
function recordIn(folder) {
  /** @type {{ models: { id: string, tasks: string[], base: string, files: { name: string, bytes: number, sha256: string, gzip?: { name: string } }[] }[] }} */
  const { models } = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8'));
  const [model] = models;
  assert(model !== undefined);
  return model;
}

/** Whether the files are those of the index, by size and hash. @param {string} folder */
function assertRight(folder) {
  const { base, files } = recordIn(folder);
  for (const { name, bytes, sha256, gzip } of files) {
    const raw = readFileSync(join(folder, base, gzip?.name ?? name));
    const content = gzip === undefined ? raw : gunzipSync(raw);
    assert.deepEqual([content.length, createHash('sha256').update(content).digest('hex')], [bytes, sha256]);
  }
}

test('models add takes an encoder by the address of its folder, as it is or quantised', () => {
  const weights = safetensors({ 'a.weight': ['F32', [3, 3], MATRIX], ...KEPT });
  writeFileSync(join(source, 'model.safetensors'), weights);
  const folder = join(root, 'served');
  const added = run('add', './Tiny.Model/', folder);
  assert.deepEqual([added.status, added.stderr], [0, '']);
  const { id, tasks, files } = recordIn(folder);
  assert.deepEqual([id, tasks], ['tiny.model', ['embedding']]);
  assert.deepEqual(files.map(({ name }) => name).toSorted(), [
    '1_Pooling/config.json',
    'config.json',
    'model.safetensors',
    'modules.json',
    'tokenizer.json',
  ]);
  assert.deepEqual(readdirSync(join(folder, id)).toSorted(), [
    '1_Pooling',
    'LICENCE.txt',
    'config.json',
    'model.safetensors',
    'modules.json',
    'tokenizer.json.gz',
  ]);
  assert.deepEqual(new Uint8Array(readFileSync(join(folder, id, 'model.safetensors'))), weights);
  assertRight(folder);

  const small = run('add', './Tiny.Model/', folder, '--int8');
  assert.deepEqual([small.status, small.stderr], [0, '']);
  const content = readFileSync(join(folder, id, 'model.safetensors'));
  assert.deepEqual(new Uint8Array(content), quantised('', weights).content);
  assertRight(folder);
  assert.equal(run('verify', folder).status, 0);
});

test('weights in several files: their index names the factors too', () => {
  rmSync(join(source, 'model.safetensors'));
  const parts = ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors'];
  const weight_map = { 'a.weight': parts[0], 'layer.bias': parts[1] };
  writeFileSync(
    join(source, 'model.safetensors.index.json'),
    JSON.stringify({ metadata: { total_size: 48 }, weight_map }),
  );
  writeFileSync(join(source, parts[0] ?? ''), safetensors({ 'a.weight': ['F32', [3, 3], MATRIX] }));
  writeFileSync(join(source, parts[1] ?? ''), safetensors({ 'layer.bias': KEPT['layer.bias'] }));
  const folder = join(root, 'parts');
  const { status, stderr } = run('add', './Tiny.Model/', folder, '--int8');
  assert.deepEqual([status, stderr], [0, '']);
  const index = readFileSync(join(folder, 'tiny.model', 'model.safetensors.index.json'), 'utf8');
  assert.deepEqual(JSON.parse(index), { weight_map: { ...weight_map, 'a.weight_scale': parts[0] } });
  assertRight(folder);
});

test('--int8 is for encoders', () => {
  writeFileSync(join(root, 'tiny.gguf'), 'GGUF and more');
  const { status, stderr } = run('add', './tiny.gguf', join(root, 'none'), '--int8');
  assert.equal(status, 1);
  assert.match(stderr, /tiny is a language model: --int8 quantises encoders only.*model-unsupported/);
});
