// What a page downloads of the package, gzipped: 350 KB are the budget of one that translates, and of the wasm of language
// models; encoders share theirs with models over letters, and have 400 KB.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';

const BUDGET = 350_000;

const PACKAGE = new URL('../', import.meta.url);

/**
 * What is fetched when it is first asked for, and at no other time: language models, encoders, a GPU; of translations the
 * alignments through English, attention, and a text that is being edited.
 */
const LATER = [
  'dist/gpu.js',
  'dist/generation.js',
  'dist/jinja.js',
  'dist/gguf-source.js',
  'dist/encoding.js',
  'dist/encoder-source.js',
  'dist/pivot.js',
  'dist/attending.js',
  'dist/following.js',
];

/**
 * The module and all that it imports, statically or not, but for what is fetched for language models, encoders and GPUs only.
 * @param {URL} module @param {Set<string>} found
 */
function closure(module, found) {
  if (found.has(module.href)) return found;
  found.add(module.href);
  const code = readFileSync(module, 'utf8');
  for (const [, isCall, from] of code.matchAll(/\b(?:from|import)\s*(\(?)\s*['"](\.[^'"]+)['"]/g)) {
    const imported = new URL(from ?? '', module);
    const isLater = LATER.some((name) => new URL(name, PACKAGE).href === imported.href);
    if (isCall !== '' && isLater) continue;
    closure(imported, found);
  }
  return found;
}

/** @param {URL} file */
const gzipped = (file) => gzipSync(readFileSync(file), { level: 9 }).length;

test('the largest wasm, its glue, the worker and the index with all they import fit into the budget', (context) => {
  const scripts = new Set([
    ...closure(new URL('dist/index.js', PACKAGE), new Set()),
    ...closure(new URL('dist/worker.js', PACKAGE), new Set()),
  ]);
  const names = [...scripts].map((address) => address.slice(PACKAGE.href.length));
  for (const part of [
    'dist/index.js',
    'dist/worker.js',
    'dist/browser-worker.js',
    'dist/download.js',
    'dist/pivot-stream.js',
    'dist/translation-modules.js',
  ]) {
    assert(names.includes(part), `${part} is among ${names.join(', ')}`);
  }
  const glue = readFileSync(new URL('dist/translation-modules.js', PACKAGE), 'utf8');
  assert(/__wbindgen_malloc/.test(glue), 'the glue is among them');
  assert(!names.some((name) => name.startsWith('dist/node/')), 'nothing of Node is');
  // A static import would bring them along.
  for (const part of [
    ...LATER,
    'dist/conversation.js',
    'dist/hub.js',
    'dist/encoder.js',
    'dist/text-worker.js',
    'dist/encoder-worker.js',
    'dist/gpu-worker.js',
    'dist/choose-device.js',
  ]) {
    assert(!names.includes(part), `${part} is not`);
  }

  const modules = readdirSync(new URL('wasm/', PACKAGE), { recursive: true, encoding: 'utf8' })
    .filter((name) => /^multihead_[a-z0-9]+_bg\.wasm$/.test(name))
    .map((name) => gzipped(new URL(`wasm/${name}`, PACKAGE)));
  assert(modules.length === 3, 'one for each variant');
  const code = [...scripts].reduce((sum, address) => sum + gzipped(new URL(address)), 0);
  const total = Math.max(...modules) + code;
  assert(
    total <= BUDGET,
    `${total} bytes: ${Math.max(...modules)} of wasm, ${code} of ${names.length} scripts`,
  );
  context.diagnostic(`${total} of ${BUDGET} bytes: ${Math.max(...modules)} of wasm, ${code} of scripts`);
});

for (const [family, budget] of /** @type {const} */ ([
  ['text', BUDGET],
  ['encoder', 400_000],
])) {
  test(`the wasm of the family ${family} fits into the budget`, (context) => {
    const modules = readdirSync(new URL('wasm/', PACKAGE), { encoding: 'utf8' })
      .filter((name) => name.startsWith(`multihead_${family}_`) && name.endsWith('_bg.wasm'))
      .map((name) => gzipped(new URL(`wasm/${name}`, PACKAGE)));
    assert(modules.length === 3, 'one for each variant');
    const largest = Math.max(...modules);
    assert(largest <= budget, `${largest} bytes`);
    context.diagnostic(`${largest} of ${budget} bytes`);
  });
}

test('the entry without GPU code leads to none', () => {
  const names = [...closure(new URL('dist/cpu.js', PACKAGE), new Set())].map((address) =>
    address.slice(PACKAGE.href.length),
  );
  assert(names.includes('dist/shared-model.js'));
  assert.deepEqual(
    names.filter((name) => /gpu|choose-device/.test(name)),
    [],
  );
  // The one with it leads to what LATER leaves out above.
  assert(closure(new URL('dist/gpu.js', PACKAGE), new Set()).size > 1);
  assert.match(readFileSync(new URL('dist/index.js', PACKAGE), 'utf8'), /\.\/gpu\.js/);
  assert.doesNotMatch(readFileSync(new URL('dist/cpu.js', PACKAGE), 'utf8'), /gpu/);
});

test('what a GPU takes fits into a megabyte', (context) => {
  const wasm = gzipped(new URL('wasm/multihead_gpu_simd128_bg.wasm', PACKAGE));
  const scripts = ['dist/gpu.js', 'dist/gpu-worker.js'].flatMap((name) => [
    ...closure(new URL(name, PACKAGE), new Set()),
  ]);
  const code = [...new Set(scripts)].reduce((sum, address) => sum + gzipped(new URL(address)), 0);
  assert(wasm + code <= 1_000_000, `${wasm} bytes of wasm, ${code} of scripts`);
  context.diagnostic(`${wasm} bytes of wasm, ${code} of scripts`);
});
