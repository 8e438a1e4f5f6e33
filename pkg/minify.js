// Makes the built scripts smaller, each for itself: they are loaded as they are where there is no bundler.

import { build } from 'esbuild';
import { readdirSync, readFileSync, rmSync } from 'node:fs';

/** Scripts below a folder. @param {string} folder */
const scripts = (folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js'))
    .map((name) => `${folder}/${name}`);

// Bundled with its library, whose licence goes along.
const LIBRARY = 'node_modules/@huggingface/jinja';
const licence = readFileSync(`${LIBRARY}/LICENSE`, 'utf8').trim();
const BUNDLED = 'dist/jinja.js';

/** @param {import('esbuild').BuildOptions} options */
const minified = (options) =>
  build({
    allowOverwrite: true,
    format: 'esm',
    target: 'es2022',
    minifyWhitespace: true,
    minifySyntax: true,
    minifyIdentifiers: true,
    legalComments: 'none',
    logLevel: 'warning',
    ...options,
  });

/** Whether it has a class: errors, the console and polyfills show the names of classes, and of nothing else. @param {string} name */
const hasClass = (name) => /^(export )?class /m.test(readFileSync(name, 'utf8'));

for (const [folder, sourcemap] of /** @type {const} */ ([
  ['dist', 'linked'],
  ['wasm', false],
])) {
  const all = scripts(folder).filter((name) => name !== BUNDLED);
  const named = folder === 'dist' ? all.filter(hasClass) : [];
  const others = all.filter((name) => !named.includes(name));
  const options = { outdir: folder, outbase: folder, sourcemap };
  await minified({ ...options, entryPoints: named, keepNames: true });
  await minified({ ...options, entryPoints: others });
}
await minified({
  entryPoints: [BUNDLED],
  outfile: BUNDLED,
  bundle: true,
  banner: { js: `/*! @huggingface/jinja\n${licence}\n*/` },
});
rmSync(`${BUNDLED}.map`, { force: true });
