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
    // Errors, the console and polyfills show names of classes.
    keepNames: true,
    legalComments: 'none',
    logLevel: 'warning',
    ...options,
  });

for (const [folder, sourcemap] of /** @type {const} */ ([
  ['dist', 'linked'],
  ['wasm', false],
])) {
  const entryPoints = scripts(folder).filter((name) => name !== BUNDLED);
  // Nobody gets to see what wasm-bindgen calls its functions.
  const keepNames = folder === 'dist';
  await minified({ entryPoints, outdir: folder, outbase: folder, sourcemap, keepNames });
}
await minified({
  entryPoints: [BUNDLED],
  outfile: BUNDLED,
  bundle: true,
  banner: { js: `/*! @huggingface/jinja\n${licence}\n*/` },
});
rmSync(`${BUNDLED}.map`, { force: true });
