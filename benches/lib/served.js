// What the server of a benchmark holds: models, versions and download sizes.

import { gzipSync } from 'node:zlib';

async function get(origin, path) {
  const response = await fetch(new URL(path, origin));
  if (!response.ok) throw new Error(`${response.url}: HTTP status ${response.status}`);
  return response;
}

/** Length of a file. */
export async function bytesOf(origin, path) {
  const response = await get(origin, path);
  await response.body?.cancel();
  return Number(response.headers.get('content-length'));
}

/** Addresses of a model's files by role, from the index that the package reads. */
export async function modelFiles(origin, id) {
  const { models } = await (await get(origin, '/models/index.json')).json();
  const model = models.find((record) => record.id === id);
  if (model === undefined) throw new Error(`no model ${id} in /models/index.json: run cargo xtask models`);
  const files = model.files.map(({ role, name }) => [role, `/models/${model.base}${name}`]);
  return { from: model.from, to: model.to, files: Object.fromEntries(files) };
}

/** Version of a package, as its package.json states it. */
export async function packageVersion(origin, path) {
  return (await (await get(origin, path)).json()).version;
}

/** Version of each side of the translation benchmarks. */
export async function versions(origin) {
  const of = (path) => packageVersion(origin, path);
  return { bergamot: await of('/bergamot/package.json'), multihead: await of('/pkg/package.json') };
}

/** Raw and gzipped bytes of each of the files, which a page has asked for, and their sums. */
export async function downloadSize(origin, paths) {
  const files = [];
  for (const path of [...paths].toSorted()) {
    const bytes = Buffer.from(await (await get(origin, path)).arrayBuffer());
    files.push({ path, raw: bytes.length, gzip: gzipSync(bytes, { level: 9 }).length });
  }
  const sum = (key) => files.reduce((total, file) => total + file[key], 0);
  return { raw: sum('raw'), gzip: sum('gzip'), files };
}
