// Translates lines with one wasm module, without workers: node translate.mjs VARIANT '["line", …]'.

import { readdirSync, readFileSync } from 'node:fs';

const [variant = '', lines = '[]'] = process.argv.slice(2);
const wasm = new URL('../../pkg/wasm/', import.meta.url);
const folder = new URL('../../models/en-pt/', import.meta.url);
const { default: init, TranslationModel } =
  /** @type {typeof import('../../pkg/wasm/multihead_simd128.js')} */ (
    await import(new URL(`multihead_${variant}.js`, wasm).href)
  );
await init({ module_or_path: readFileSync(new URL(`multihead_${variant}_bg.wasm`, wasm)) });
/** @param {RegExp} pattern */
const file = (pattern) => {
  const name = readdirSync(folder).find((entry) => pattern.test(entry));
  if (name === undefined) throw new Error(`no ${pattern} in models/en-pt: run cargo xtask models`);
  return { name, data: new Uint8Array(readFileSync(new URL(name, folder))) };
};
const files = { model: file(/^model/), sourceVocab: file(/\.spm$/), shortlist: file(/^lex/) };
const job = new TranslationModel(files, {}).start(/** @type {string[]} */ (JSON.parse(lines)), {});
while (!job.done) await job.step(1000);
process.stdout.write(JSON.stringify({ architecture: process.arch, texts: job.finishTexts() }));
