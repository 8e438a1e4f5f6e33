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
const JINJA = 'dist/jinja.js';
// What wasm-bindgen writes for the variants is nearly the same: in one file each part is compressed once.
const MODULES = [
  'dist/translation-modules.js',
  'dist/text-modules.js',
  'dist/encoder-modules.js',
  'dist/gpu-module.js',
];
// With parts that these alone load in a page: together they weigh less than apart, and are one request.
/** @type {Record<string, readonly string[]>} */
const TOGETHER = {
  'dist/browser-worker.js': ['./instance.js', './serve.js'],
  'dist/following.js': ['./known.js', './seams.js'],
};

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
  const all = scripts(folder).filter((name) => ![JINJA, ...MODULES, ...Object.keys(TOGETHER)].includes(name));
  const named = folder === 'dist' ? all.filter(hasClass) : [];
  const others = all.filter((name) => !named.includes(name));
  const options = { outdir: folder, outbase: folder, sourcemap };
  await minified({ ...options, entryPoints: named, keepNames: true });
  await minified({ ...options, entryPoints: others });
}
await minified({
  entryPoints: [JINJA],
  outfile: JINJA,
  bundle: true,
  banner: { js: `/*! @huggingface/jinja\n${licence}\n*/` },
});
for (const file of MODULES) {
  await minified({
    entryPoints: [file],
    outfile: file,
    bundle: true,
    plugins: [{ name: 'glue', setup: withoutOwn }],
  });
}
for (const [file, parts] of Object.entries(TOGETHER)) {
  await minified({
    entryPoints: [file],
    outfile: file,
    bundle: true,
    keepNames: hasClass(file),
    plugins: [
      {
        name: 'parts',
        setup: (builder) => {
          builder.onResolve({ filter: /^\./ }, ({ path, kind }) =>
            kind === 'entry-point' || parts.includes(path) ? undefined : { path, external: true },
          );
        },
      },
    ],
  });
}
for (const file of [JINJA, ...MODULES, ...Object.keys(TOGETHER)]) rmSync(`${file}.map`, { force: true });

/** The worker always says which module is meant; where the glue would look, there is none. @param {import('esbuild').PluginBuild} builder */
function withoutOwn(builder) {
  builder.onLoad({ filter: /[\\/]wasm[\\/][^\\/]+\.js$/ }, ({ path }) => {
    const own = /new URL\((['"])[\w.]+_bg\.wasm\1, ?import\.meta\.url\)/g;
    const code = readFileSync(path, 'utf8');
    if (!own.test(code)) throw new Error(`${path} does not say where its module is`);
    return { contents: code.replace(own, 'undefined'), loader: 'js' };
  });
}
