// Makes the built scripts smaller, each for itself: they are loaded as they are where there is no bundler.

import { build } from 'esbuild';
import { readdirSync } from 'node:fs';

/** Scripts below a folder. @param {string} folder */
const scripts = (folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js'))
    .map((name) => `${folder}/${name}`);

for (const [folder, sourcemap] of /** @type {const} */ ([
  ['dist', 'linked'],
  ['wasm', false],
])) {
  await build({
    entryPoints: scripts(folder),
    outdir: folder,
    outbase: folder,
    allowOverwrite: true,
    format: 'esm',
    target: 'es2022',
    minifyWhitespace: true,
    minifySyntax: true,
    minifyIdentifiers: true,
    // Errors, the console and polyfills show names of classes.
    keepNames: true,
    legalComments: 'none',
    sourcemap,
    logLevel: 'warning',
  });
}
