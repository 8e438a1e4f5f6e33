// The package's command, on small made-up models from a folder and from a server.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';

const CLI = fileURLToPath(new URL('../dist/node/cli.js', import.meta.url));

/** @param {Uint8Array} bytes */
const hash = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** Files of two models. @type {Record<string, Record<string, Buffer>>} */
const CONTENT = {
  'en-pt': { 'model.enpt.bin': randomBytes(20_000), 'vocab.enpt.spm': Buffer.alloc(5000, 'vocab') },
  'pt-en': { 'model.pten.bin': randomBytes(10_000), 'vocab.pten.spm': Buffer.alloc(4000, 'palavra') },
};
const LICENCE = 'CC0-1.0 (made up)';

/** Folder of the tests; `source/` is a multihead index of plain files. */
let root = '';
/** What the server does with a path; undefined serves it. @type {((path: string, response: import('node:http').ServerResponse) => boolean) | undefined} */
let fault;
/** @type {string[]} */
let requests = [];
const server = createServer((request, response) => {
  const path = request.url ?? '/';
  requests.push(path);
  if (fault?.(path, response) === true) return;
  try {
    response.end(readFileSync(join(root, path)));
  } catch {
    response.writeHead(404).end('no');
  }
});
let origin = '';

before(async () => {
  root = mkdtempSync(join(tmpdir(), 'multihead-cli-'));
  const models = Object.entries(CONTENT).map(([id, files]) => {
    mkdirSync(join(root, 'source', id), { recursive: true });
    const [from, to] = id.split('-');
    return {
      id,
      tasks: ['translation'],
      from,
      to,
      licence: LICENCE,
      base: `${id}/`,
      files: Object.entries(files).map(([name, bytes]) => {
        writeFileSync(join(root, 'source', id, name), bytes);
        return { name, role: name.split('.')[0], bytes: bytes.length, sha256: hash(bytes) };
      }),
    };
  });
  writeFileSync(join(root, 'source', 'index.json'), JSON.stringify({ models }));

  mkdirSync(join(root, 'storage', 'files'), { recursive: true });
  const storage = Object.fromEntries(
    Object.entries(CONTENT).map(([id, files]) => {
      const described = Object.fromEntries(
        Object.entries(files).map(([name, bytes]) => {
          const packed = gzipSync(bytes);
          writeFileSync(join(root, 'storage', 'files', `${name}.gz`), packed);
          return [
            name.split('.')[0],
            {
              path: `files/${name}.gz`,
              // Of the model only, as in the public one.
              ...(name.startsWith('model')
                ? { uncompressedSize: bytes.length, uncompressedHash: hash(bytes) }
                : {}),
            },
          ];
        }),
      );
      const other = { architecture: 'base', releaseStatus: 'Nightly', files: described };
      return [id, [other, { ...other, architecture: 'tiny', releaseStatus: 'Release' }]];
    }),
  );
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      resolve(undefined);
    });
  });
  const address = server.address();
  assert(typeof address === 'object' && address !== null);
  origin = `http://127.0.0.1:${address.port}`;
  writeFileSync(
    join(root, 'storage', 'models.json'),
    JSON.stringify({ baseUrl: `${origin}/storage`, models: storage }),
  );
});
after(() => {
  server.closeAllConnections();
  server.close();
  rmSync(root, { recursive: true, force: true });
});

let count = 0;
let folder = '';
beforeEach(() => {
  fault = undefined;
  requests = [];
  folder = join(root, `site-${++count}`);
});

/**
 * Runs the command in the tests' folder.
 * @param {string[]} args
 * @returns {Promise<{ code: number | null, out: string, err: string }>}
 */
function run(...args) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [CLI, ...args], { cwd: root });
    let [out, err] = ['', ''];
    child.stdout.on('data', (/** @type {Buffer} */ chunk) => (out += String(chunk)));
    child.stderr.on('data', (/** @type {Buffer} */ chunk) => (err += String(chunk)));
    child.on('error', reject);
    child.on('close', (code) => {
      resolve({ code, out, err });
    });
  });
}

/** The folder's index is right for these models, and nothing else lies beside their files. @param {string[]} ids */
function assertServable(...ids) {
  /** @type {{ models: { id: string, base: string, licence: string, files: any[] }[] }} */
  const index = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8'));
  assert.deepEqual(
    index.models.map(({ id }) => id),
    ids,
  );
  for (const { id, base, licence, files } of index.models) {
    assert.equal(licence, LICENCE);
    assert.match(readFileSync(join(folder, base, 'LICENCE.txt'), 'utf8'), /CC0-1\.0/);
    for (const file of files) {
      const packed = readFileSync(join(folder, base, file.gzip.name));
      const content = CONTENT[id]?.[file.name];
      assert(content !== undefined);
      assert.deepEqual(gunzipSync(packed), content);
      assert.deepEqual([file.bytes, file.sha256], [content.length, hash(content)]);
      assert.deepEqual([file.gzip.bytes, file.gzip.sha256], [packed.length, hash(packed)]);
    }
    assert.equal(readdirSync(join(folder, base)).length, files.length + 1);
  }
  assert.deepEqual(readdirSync(folder).toSorted(), ['index.json', ...ids].toSorted());
}

test('adds from a folder, an index file and an address; several at once and one after the other', async () => {
  for (const from of ['source', join(root, 'source', 'index.json'), `${origin}/source/`]) {
    folder = join(root, `site-${++count}`);
    const both = await run('models', 'add', 'en-pt', 'pt-en', folder, '--from', from);
    assert.deepEqual([both.code, both.err], [0, '']);
    assertServable('en-pt', 'pt-en');
  }
  folder = join(root, `site-${++count}`);
  await run('models', 'add', 'pt-en', folder, '--from', 'source');
  assertServable('pt-en');
  await run('models', 'add', 'en-pt', folder, '--from', 'source');
  assertServable('pt-en', 'en-pt');
  const checked = await run('models', 'verify', folder);
  assert.equal(checked.code, 0, checked.err);
});

test('a folder it has written is an index to add from', async () => {
  const first = folder;
  await run('models', 'add', 'en-pt', first, '--from', 'source');
  folder = join(root, `site-${++count}`);
  assert.equal((await run('models', 'add', 'en-pt', folder, '--from', first)).code, 0);
  assertServable('en-pt');
});

test('what is there already is not fetched again; what is damaged is', async () => {
  const from = `${origin}/source/index.json`;
  await run('models', 'add', 'en-pt', folder, '--from', from);
  requests = [];
  const again = await run('models', 'add', 'en-pt', folder, '--from', from);
  assert.match(again.out, /model\.enpt\.bin: there already/);
  assert.deepEqual(requests, ['/source/index.json']);
  const path = join(folder, 'en-pt', 'model.enpt.bin.gz');
  const damaged = readFileSync(path);
  damaged[100] = (damaged[100] ?? 0) ^ 1;
  writeFileSync(path, damaged);
  const checked = await run('models', 'verify', folder);
  assert.equal(checked.code, 1);
  assert.match(checked.out, /model\.enpt\.bin\.gz: its SHA-256 begins with/);
  assert.match(checked.err, /1 files or entries are not what the index says.*model-corrupt/);
  await run('models', 'add', 'en-pt', folder, '--from', from);
  assertServable('en-pt');
  rmSync(path);
  assert.match((await run('models', 'verify', folder)).out, /model\.enpt\.bin\.gz: missing/);
});

/** A GGUF file, as far as its first bytes go. */
const WEIGHTS = Buffer.concat([Buffer.from('GGUF'), randomBytes(30_000)]);

test('adds language models from an index and from an address, their files as they are', async () => {
  const place = join(root, 'writers');
  mkdirSync(join(place, 'writer'), { recursive: true });
  writeFileSync(join(place, 'writer', 'Writer.Q4_1.gguf'), WEIGHTS);
  const described = {
    name: 'Writer.Q4_1.gguf',
    role: 'model',
    bytes: WEIGHTS.length,
    sha256: hash(WEIGHTS),
  };
  const model = { id: 'writer', tasks: ['generation'], licence: LICENCE, files: [described] };
  writeFileSync(join(place, 'index.json'), JSON.stringify({ models: [model] }));
  const index = `${origin}/writers/`;
  const address = `${index}writer/Writer.Q4_1.gguf`;

  const added = await run('models', 'add', 'writer', address, folder, '--from', index);
  assert.deepEqual([added.code, added.err], [0, '']);
  assert.match(added.out, /writer\.q4_1\/Writer\.Q4_1\.gguf: the index has no hash/);
  /** @type {{ models: { id: string, tasks: string[], licence: string, files: object[] }[] }} */
  const { models } = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8'));
  assert.deepEqual(
    models.map(({ id, tasks, licence, files }) => ({ id, tasks, licence, files })),
    [model, { id: 'writer.q4_1', tasks: ['generation'], licence: `see ${address}`, files: [described] }],
  );
  for (const { id } of models) {
    assert.deepEqual(readFileSync(join(folder, id, 'Writer.Q4_1.gguf')), WEIGHTS);
    assert.deepEqual(readdirSync(join(folder, id)).toSorted(), ['LICENCE.txt', 'Writer.Q4_1.gguf']);
  }
  assert.equal((await run('models', 'verify', folder)).code, 0);
  requests = [];
  const again = await run('models', 'add', 'writer', folder, '--from', index);
  assert.match(again.out, /Writer\.Q4_1\.gguf: there already/);
  assert.deepEqual(requests, ['/writers/index.json']);

  writeFileSync(join(folder, 'writer', 'Writer.Q4_1.gguf'), WEIGHTS.subarray(0, 100));
  const checked = await run('models', 'verify', folder);
  assert.equal(checked.code, 1);
  assert.match(checked.out, /writer\/Writer\.Q4_1\.gguf: has 100 bytes, by the index 30004\n/);
  rmSync(join(folder, 'writer', 'Writer.Q4_1.gguf'));
  assert.match((await run('models', 'verify', folder)).out, /writer\/Writer\.Q4_1\.gguf: missing\n/);

  fault = (path, response) => path.endsWith('.gguf') && Boolean(response.end('{"error":"busy"}'));
  const failed = await run('models', 'add', address, folder);
  assert.equal(failed.code, 1);
  assert.match(failed.err, /no GGUF file.*model-corrupt/);
});

test('lists models of languages by their pair, others by their tasks', async () => {
  const index = join(root, 'tasks.json');
  const { models } = JSON.parse(readFileSync(join(root, 'source', 'index.json'), 'utf8'));
  const { from, to, ...other } = models[0];
  const text = { ...other, id: 'writer', tasks: ['generation'] };
  writeFileSync(index, JSON.stringify({ models: [models[0], text] }));
  const listed = await run('models', 'list', '--from', index);
  assert.deepEqual([from, to, listed.code, listed.err], ['en', 'pt', 0, '']);
  assert.match(listed.out, /^en-pt\s+en → pt\s.*\nwriter\s+generation\s.*\n$/);
});

test('reads the storage index of Firefox Translations: the released model, or the one asked for', async () => {
  const from = `${origin}/storage/models.json`;
  const listed = await run('models', 'list', '--from', from);
  const lines = listed.out.trimEnd().split('\n');
  assert.equal(lines.length, 4);
  assert.match(lines[0] ?? '', /^en-pt\s+en → pt\s+\? MB\s+tiny\s+MPL-2\.0/);
  const added = await run('models', 'add', 'en-pt', folder, '--from', from);
  assert.equal(added.code, 0);
  assert.match(added.out, /vocab\.enpt\.spm: the index has no hash/);
  assert.doesNotMatch(added.out, /model\.enpt\.bin: the index has no hash/);
  const { models } = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8'));
  assert.deepEqual([models[0].from, models[0].to, models[0].files[1].role], ['en', 'pt', 'vocab']);
  assert.match(models[0].licence, /MPL-2\.0/);
  assert.equal((await run('models', 'verify', folder)).code, 0);
  const none = await run('models', 'add', 'en-pt', folder, '--from', from, '--architecture', 'huge');
  assert.equal(none.code, 1);
  assert.match(none.err, /en-pt of architecture huge.*tiny, base/);
});

test('entries of an unknown shape are left out of the storage index; one that is wanted is told', async () => {
  const from = `${origin}/storage/newer.json`;
  const index = JSON.parse(readFileSync(join(root, 'storage', 'models.json'), 'utf8'));
  const [entry] = index.models['pt-en'];
  index.models = {
    'de-en': 'see elsewhere',
    'fr-en': [{ ...entry, files: { weights: { path: 'files/weights.zst' } } }],
    'es-en': [{ ...entry, files: { ...entry.files, model: { path: 'http://[' } } }],
    'en-pt': [{ version: 9, releaseStatus: 'Release' }, ...index.models['en-pt']],
  };
  writeFileSync(join(root, 'storage', 'newer.json'), JSON.stringify(index));
  const listed = await run('models', 'list', '--from', from);
  assert.deepEqual([listed.code, listed.err], [0, '']);
  assert.match(listed.out, /^en-pt .* tiny .*\nen-pt .* base .*\n4 more .*: de-en, fr-en, es-en, en-pt\n$/);
  const added = await run('models', 'add', 'en-pt', folder, '--from', from);
  assert.equal(added.code, 0, added.err);
  assert.match(added.out, /^en-pt: entries of the index whose shape is not known here are left out\n/);
  assert.equal((await run('models', 'verify', folder)).code, 0);
  for (const id of ['de-en', 'fr-en', 'es-en']) {
    const { code, err } = await run('models', 'add', id, folder, '--from', from);
    assert.equal(code, 1);
    assert.match(err, new RegExp(`newer\\.json: no entry of "${id}" .*model-unsupported`));
  }
  for (const [models, baseUrl, message] of /** @type {const} */ ([
    [{ 'en-pt': [7] }, index.baseUrl, /newer\.json: none of its entries is a model.*model-corrupt/],
    [index.models, 'http://[', /newer\.json: its baseUrl .* is no address.*model-corrupt/],
  ])) {
    writeFileSync(join(root, 'storage', 'newer.json'), JSON.stringify({ baseUrl, models }));
    assert.match((await run('models', 'list', '--from', from)).err, message);
  }
});

/** Has the source offer another version of en-pt, of these files. @param {Record<string, Buffer>} files */
function replaceSource(files) {
  const place = join(root, `newer-${++count}`);
  mkdirSync(join(place, 'en-pt'), { recursive: true });
  const { models } = JSON.parse(readFileSync(join(root, 'source', 'index.json'), 'utf8'));
  const described = Object.entries(files).map(([name, bytes]) => {
    writeFileSync(join(place, 'en-pt', name), bytes);
    return { name, bytes: bytes.length, sha256: hash(bytes) };
  });
  writeFileSync(join(place, 'index.json'), JSON.stringify({ models: [{ ...models[0], files: described }] }));
  return place.slice(root.length);
}

test('a model is replaced whole or not at all: one file cannot be written', async () => {
  await run('models', 'add', 'en-pt', folder, '--from', 'source');
  // Its name leaves no room for the one that it is written under first: file names have 255 bytes at most.
  const long = `vocab.${'x'.repeat(220)}.spm`;
  const newer = replaceSource({ 'model.enpt.bin': randomBytes(20_000), [long]: Buffer.alloc(10) });
  const { code, err } = await run('models', 'add', 'en-pt', folder, '--from', `${origin}${newer}/`);
  assert.equal(code, 1);
  assert.match(err, /vocab\.x+\.spm\.gz cannot be written/);
  assertServable('en-pt');
  const fine = replaceSource({
    'model.enpt.bin': Buffer.from('new'),
    'vocab.enpt.spm': Buffer.from('newer'),
  });
  assert.equal((await run('models', 'add', 'en-pt', folder, '--from', `${origin}${fine}/`)).code, 0);
  assert.equal((await run('models', 'verify', folder)).code, 0);
  const packed = readFileSync(join(folder, 'en-pt', 'model.enpt.bin.gz'));
  assert.equal(String(gunzipSync(packed)), 'new');
});

test('an index keeps what others have put into it', async () => {
  mkdirSync(folder);
  const other = {
    id: 'own',
    tasks: ['embedding'],
    licence: 'ours',
    note: 'kept',
    files: [{ name: 'a.bin', bytes: 1, sha256: '0'.repeat(64) }],
  };
  writeFileSync(join(folder, 'index.json'), JSON.stringify({ about: 'ours', models: [other] }));
  await run('models', 'add', 'en-pt', folder, '--from', 'source');
  const index = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8'));
  assert.equal(index.about, 'ours');
  assert.deepEqual(index.models[0], other);
  assert.equal(index.models[1].id, 'en-pt');
});

test('a server at fault: the file and its address are named, no index lists the model', async () => {
  /** @type {[RegExp, NonNullable<typeof fault>][]} */
  const faults = [
    [/status 404.*model-not-found/, (_, response) => Boolean(response.writeHead(404).end())],
    [/web page/, (_, response) => Boolean(response.end('<!doctype html>'))],
    [/SHA-256.*model-corrupt/, (_, response) => Boolean(response.end(Buffer.alloc(5000)))],
  ];
  for (const [message, answer] of faults) {
    fault = (path, response) => path.endsWith('.spm') && answer(path, response);
    const failed = await run('models', 'add', 'en-pt', folder, '--from', `${origin}/source/`);
    assert.equal(failed.code, 1);
    assert.match(failed.err, message);
    assert(failed.err.includes(`${origin}/source/en-pt/vocab.enpt.spm`), failed.err);
    assert.throws(() => readdirSync(folder));
  }
});

test('an index that is damaged or no index is told, and left alone', async () => {
  mkdirSync(folder);
  writeFileSync(join(folder, 'index.json'), '{"models": 7}');
  const failed = await run('models', 'add', 'en-pt', folder, '--from', `${origin}/source/`);
  assert.equal(failed.code, 1);
  assert.match(failed.err, /index\.json.*no "models" list/);
  assert.equal(readFileSync(join(folder, 'index.json'), 'utf8'), '{"models": 7}');
  assert.deepEqual(requests, []);
  for (const [from, message] of /** @type {[string, RegExp][]} */ ([
    [`${origin}/none/`, /status 404; see --from/],
    ['nowhere', /status 404; see --from/],
    [join(folder, 'index.json'), /no "models" list/],
  ])) {
    const { code, err } = await run('models', 'list', '--from', from);
    assert.equal(code, 1);
    assert.match(err, message);
  }
  const unknown = await run('models', 'add', 'en-xx', folder, '--from', 'source');
  assert.equal(unknown.code, 1);
});

test('an entry that cannot be read: the others are offered, verify tells it, adding its model replaces it', async () => {
  await run('models', 'add', 'en-pt', folder, '--from', 'source');
  const path = join(folder, 'index.json');
  const { models } = JSON.parse(readFileSync(path, 'utf8'));
  writeFileSync(path, `\ufeff${JSON.stringify({ models: [null, { id: 'pt-en', files: 7 }, ...models] })}`);
  const listed = await run('models', 'list', '--from', folder);
  assert.deepEqual([listed.code, listed.err], [0, '']);
  assert.match(listed.out, /^en-pt .*\n2 more of a shape that is not known here: entry 0, pt-en\n$/);
  const checked = await run('models', 'verify', folder);
  assert.equal(checked.code, 1);
  assert.match(checked.out, /entry 0 is no model record.*\n.*entry 1 \("pt-en"\) is no model record/);
  assert.equal((await run('models', 'add', 'pt-en', folder, '--from', 'source')).code, 0);
  const index = JSON.parse(readFileSync(path, 'utf8'));
  assert.deepEqual(
    index.models.map((/** @type {{ id: string } | null} */ entry) => entry?.id),
    [undefined, 'pt-en', 'en-pt'],
  );
});

test('a folder where a file belongs: nothing of the model is replaced', async () => {
  await run('models', 'add', 'en-pt', folder, '--from', 'source');
  const newer = replaceSource({ 'model.enpt.bin': Buffer.from('new'), 'vocab.new.spm': Buffer.from('new') });
  mkdirSync(join(folder, 'en-pt', 'vocab.new.spm.gz'));
  const { code, err } = await run('models', 'add', 'en-pt', folder, '--from', `${origin}${newer}/`);
  assert.equal(code, 1);
  assert.match(err, /vocab\.new\.spm\.gz cannot be written: a folder is in its place/);
  rmSync(join(folder, 'en-pt', 'vocab.new.spm.gz'), { recursive: true });
  assertServable('en-pt');
});

test('who reads the output may go: the work is done all the same', async () => {
  const child = spawn(
    process.execPath,
    [CLI, 'models', 'add', 'en-pt', 'pt-en', folder, '--from', 'source'],
    {
      cwd: root,
    },
  );
  child.stdout.destroy();
  let said = '';
  child.stderr.on('data', (/** @type {Buffer} */ chunk) => (said += String(chunk)));
  const code = await new Promise((resolve) => {
    child.on('close', resolve);
  });
  assert.deepEqual([code, said], [0, '']);
  assertServable('en-pt', 'pt-en');
});

test('a model over letters is added by the address of its folder, and is not quantised', async () => {
  const dates = new URL('../../www/lesson/models/dates/', import.meta.url);
  const added = await run('models', 'add', dates.href, folder);
  assert.deepEqual([added.code, added.err], [0, '']);
  const index = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8'));
  const [{ id, tasks, base, files }, ...others] = index.models;
  assert.deepEqual([id, tasks, base, others], ['dates', ['transliteration'], 'dates/', []]);
  const told = Object.fromEntries(
    files.map((/** @type {{ name: string, bytes: number, sha256: string }} */ { name, bytes, sha256 }) => [
      name,
      [bytes, sha256],
    ]),
  );
  const names = ['config.json', 'model.safetensors'];
  const expected = names.map((name) => {
    const content = readFileSync(new URL(name, dates));
    assert.deepEqual(readFileSync(join(folder, id, name)), content);
    return [name, [content.length, hash(content)]];
  });
  assert.deepEqual(told, Object.fromEntries(expected));
  assert.deepEqual(readdirSync(join(folder, id)).toSorted(), ['LICENCE.txt', ...names]);
  assert.equal((await run('models', 'verify', folder)).code, 0);

  for (const args of [[dates.href], ['dates', '--from', folder]]) {
    const [model = '', ...from] = args;
    const { code, err } = await run('models', 'add', model, `${folder}-int8`, ...from, '--int8');
    assert.equal(code, 1);
    assert.match(err, /dates is a model over letters: --int8 quantises encoders only.*model-unsupported/);
    assert.throws(() => readdirSync(`${folder}-int8`));
  }
});

test('an unknown id names those there are', async () => {
  const { code, err } = await run('models', 'add', 'en-xx', folder, '--from', 'source');
  assert.equal(code, 1);
  assert.match(err, /no model en-xx.*there: en-pt, pt-en.*model-not-found/);
});

test('wrong arguments are exit code 2, with a pointer to the help', async () => {
  for (const args of [
    ['model'],
    ['models'],
    ['models', 'remove'],
    ['models', 'add'],
    ['models', 'add', 'en-pt'],
    ['models', 'list', 'en-pt'],
    ['models', 'verify'],
    ['models', 'list', '--form', 'x'],
    ['models', 'list', '--from', 'http://['],
  ]) {
    const { code, out, err } = await run(...args);
    assert.deepEqual([code, out], [2, ''], args.join(' '));
    assert.match(err, /^multihead: .+\nmultihead --help says more\n$/);
  }
  const help = await run('--help');
  assert.equal(help.code, 0);
  for (const word of ['models add', 'models list', 'models verify', '--from', 'Exit codes']) {
    assert(help.out.includes(word), word);
  }
});

test('an interruption leaves nothing half done, and a model that was being replaced as it was', async () => {
  const newer = replaceSource({
    'model.enpt.bin': Buffer.from('new'),
    'vocab.enpt.spm': Buffer.from('newer'),
  });
  for (const from of ['/source', newer]) {
    fault = undefined;
    if (from === newer) await run('models', 'add', 'en-pt', folder, '--from', 'source');
    const args = [CLI, 'models', 'add', 'en-pt', folder, '--from', `${origin}${from}/`];
    const child = spawn(process.execPath, args, { cwd: root });
    // The last file that comes.
    fault = (path, response) => {
      if (!path.endsWith('.spm')) return false;
      response.write('n');
      child.kill('SIGINT');
      return true;
    };
    let said = '';
    child.stderr.on('data', (/** @type {Buffer} */ chunk) => (said += String(chunk)));
    const code = await new Promise((resolve) => {
      child.on('close', resolve);
    });
    assert.equal(code, 130);
    assert.match(said, /^multihead: interrupted; the models that were not added yet are as they were\n$/);
    if (from === newer) assertServable('en-pt');
    else assert.throws(() => readdirSync(folder));
  }
});
