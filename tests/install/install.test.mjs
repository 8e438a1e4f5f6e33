// The package as a site owner gets it: packed, installed into an empty folder, and used as its README says, word for
// word, under the content security policy that the README gives.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { inChromium } from '../e2e/chromium.mjs';
import { startServer } from '../e2e/server.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const README = readFileSync(join(ROOT, 'pkg/README.md'), 'utf8');
const POLICY = "script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'";

/** "How much is this?" in Portuguese. */
const EXPECTED = /^Quanto (custa|é) (isso|isto)\?/;

/** Code blocks of the README by the file that their first line names; the first one of the shell by "sh". */
const blocks = new Map(
  [...README.matchAll(/^```(\w+)\n(.*?)^```$/gms)].toReversed().map(([, language = '', code = '']) => {
    const name = /^(?:\/\/|<!--) (\S+\.\w+)(?: -->)?$/m.exec(code.split('\n')[0] ?? '')?.[1];
    return [name ?? language, code];
  }),
);

/** @param {string} name */
function block(name) {
  const code = blocks.get(name);
  assert(code !== undefined, `the README has no block ${name}`);
  return code;
}

/** Node and npm, but no Rust. */
const PATH = [
  dirname(process.execPath),
  ...(process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => !['cargo', 'rustc', 'rustup'].some((name) => existsSync(join(folder, name)))),
].join(delimiter);

/** An empty folder outside of the repository. */
const site = mkdtempSync(join(tmpdir(), 'multihead-site-'));
const { visitor } = inChromium();

/** @param {string} program @param {string[]} args */
function run(program, ...args) {
  return execFileSync(program, args, { cwd: site, encoding: 'utf8', env: { ...process.env, PATH } });
}

before(async () => {
  execFileSync('npm', ['pack', '--silent', '--pack-destination', site], { cwd: join(ROOT, 'pkg') });
  const [archive] = readdirSync(site);
  assert(archive !== undefined);
  for (const line of block('sh').trimEnd().split('\n')) {
    const [program = '', ...args] = line.split(' ');
    // The package from the archive instead of the registry, models from this repository instead of their host.
    const here = args.map((argument) =>
      argument === 'multihead' && program === 'npm' ? `./${archive}` : argument,
    );
    const offline =
      program === 'npm' ? ['--offline', '--no-audit', '--no-fund'] : ['--from', join(ROOT, 'models')];
    run(program, ...here, ...offline);
  }
});
after(() => {
  rmSync(site, { recursive: true, force: true });
});

/**
 * Serves a folder under the policy, to a page that is not cross-origin isolated, and visits it.
 * @param {string} folder @param {RegExp} [expected]
 */
async function serveAndVisit(folder, expected = EXPECTED) {
  const server = await startServer({
    isolated: false,
    folders: { '/': folder },
    headers: { 'content-security-policy': POLICY },
  });
  try {
    await visit(server.origin, expected);
    return server.state.requests;
  } finally {
    await server.close();
  }
}

/**
 * Opens the page and waits for its text.
 * @param {string} origin @param {RegExp} [expected]
 */
async function visit(origin, expected = EXPECTED) {
  const page = await (await visitor()).newPage();
  /** @type {string[]} */
  const problems = [];
  /** @type {string[]} */
  const workers = [];
  /** @type {string[]} */
  const addresses = [];
  // A page that failed has nothing to wait for.
  const failed = new Promise((_, reject) => {
    page.on('pageerror', (error) => {
      problems.push(error.message);
      reject(error);
    });
  });
  failed.catch(() => undefined);
  page.on('console', (message) => {
    if (message.type() === 'error' && !/favicon/.test(message.location().url)) problems.push(message.text());
  });
  page.on('worker', (worker) => workers.push(worker.url()));
  page.on('request', (request) => addresses.push(request.url()));
  try {
    await page.goto(`${origin}/index.html`);
    const said = await Promise.race([
      page.waitForFunction(() => {
        const text = document.body.innerText.trim();
        return text === '' ? undefined : { text, isolated: crossOriginIsolated };
      }),
      failed,
    ]);
    const { text, isolated } = await said.jsonValue();
    assert.match(text, expected);
    assert.deepEqual(problems, []);
    assert.equal(isolated, false);
    assert(workers.length > 0);
    for (const address of [...workers, ...addresses]) {
      assert(address.startsWith(`${origin}/`), address);
    }
  } finally {
    await page.context().close();
  }
}

test('the policy and the files that the README names are those of this test', () => {
  assert(README.includes(POLICY));
  const installed = join(site, 'node_modules/multihead');
  for (const file of ['README.md', 'CHANGELOG.md', 'dist/index.js', 'dist/index.d.ts', 'dist/worker.js']) {
    assert(existsSync(join(installed, file)), file);
  }
  /** @type {{ scripts?: object, dependencies?: object }} */
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  assert.equal(manifest.dependencies, undefined);
  for (const script of ['preinstall', 'install', 'postinstall', 'prepare']) {
    assert(!(script in (manifest.scripts ?? {})), script);
  }
  assert(!existsSync(join(installed, 'src')));
  assert.match(run('npx', 'multihead', 'models', 'verify', 'public/models'), /en-pt: 3 files/);
});

test('from a static server, without a bundler', async () => {
  const folder = join(site, 'public');
  cpSync(join(site, 'node_modules/multihead'), join(folder, 'multihead'), { recursive: true });
  writeFileSync(join(folder, 'main.js'), block('public/main.js'));
  writeFileSync(join(folder, 'index.html'), block('index.html'));
  await serveAndVisit(folder);
  for (const name of ['multihead', 'main.js', 'index.html']) rmSync(join(folder, name), { recursive: true });
});

/** Builds the page with `main.js` into the site's `dist`. */
function buildWithVite() {
  const vite = fileURLToPath(new URL('node_modules/vite/bin/vite.js', import.meta.url));
  run(process.execPath, vite, 'build', '--logLevel', 'warn');
  return join(site, 'dist');
}

test('from a Vite build', async () => {
  writeFileSync(join(site, 'main.js'), block('main.js'));
  writeFileSync(join(site, 'index.html'), block('index.html'));
  const built = buildWithVite();
  const requests = await serveAndVisit(built);
  const assets = readdirSync(join(built, 'assets'));
  assert(assets.some((name) => name.endsWith('.wasm')));
  assert.equal(requests.filter((path) => path.endsWith('.wasm')).length, 1);
  // The worker has been bundled: nothing of the package is there twice, or raw.
  for (const name of assets) {
    const code = readFileSync(join(built, 'assets', name), 'latin1');
    assert(!/from\s*["'`]\.\/(errors|engine|serve|abort)\.js/.test(code), name);
  }
});

/** Has Vite serve the page with `main.js` as it is developed, and visits it. @param {RegExp} [expected] */
async function visitDeveloped(expected) {
  const { createServer } = await import('vite');
  const vite = await createServer({ root: site, logLevel: 'error', server: { port: 0, host: '127.0.0.1' } });
  try {
    await vite.listen();
    await visit(vite.resolvedUrls?.local[0]?.replace(/\/$/, '') ?? '', expected);
  } finally {
    await vite.close();
  }
}

test('from the development server of Vite', async () => {
  await visitDeveloped();
});

/** Builds the page with `main.js` into the site's `packed`. */
async function buildWithWebpack() {
  const { default: webpack } = await import('webpack');
  const built = join(site, 'packed');
  const compiler = webpack({
    context: site,
    mode: 'production',
    entry: './main.js',
    output: { path: built, filename: 'main.js', publicPath: '/' },
  });
  const stats = await new Promise((resolve, reject) => {
    compiler.run((/** @type {Error | null} */ error, /** @type {unknown} */ result) => {
      if (error === null) resolve(result);
      else reject(error);
    });
  });
  assert(!stats.hasErrors(), stats.toString('errors-only'));
  writeFileSync(join(built, 'index.html'), block('index.html'));
  cpSync(join(site, 'public/models'), join(built, 'models'), { recursive: true });
  return built;
}

test('from a webpack build', async () => {
  writeFileSync(join(site, 'main.js'), block('main.js'));
  const built = await buildWithWebpack();
  await serveAndVisit(built);
  assert.equal(readdirSync(built).filter((name) => name.endsWith('.wasm')).length > 0, true);
});

test('in Node', () => {
  mkdirSync(site, { recursive: true });
  writeFileSync(join(site, 'node.mjs'), block('node.mjs'));
  const printed = run(process.execPath, 'node.mjs');
  assert.match(printed, /^\[ 'Quanto (custa|é) (isso|isto)\?', 'Bom dia\.' \]\n$/);
});

test('a language model in Node, from Vite and from webpack', async () => {
  const id = 'smollm2-135m-instruct';
  run('npx', 'multihead', 'models', 'add', id, 'public/models', '--from', join(ROOT, 'models'));
  writeFileSync(join(site, 'chat.mjs'), block('chat.mjs'));
  const printed = run(process.execPath, 'chat.mjs').split('\n');
  assert.match(printed[0] ?? '', /Paris/);
  assert.match(printed[1] ?? '', /^\d\d of 8192 tokens$/);
  assert.match(printed.at(-2) ?? '', /^ Rome\. 5 2$/);
  writeFileSync(join(site, 'main.js'), block('chat.js'));
  writeFileSync(join(site, 'index.html'), block('index.html'));
  await serveAndVisit(buildWithVite(), /Paris/);
  await visitDeveloped(/Paris/);
  await serveAndVisit(await buildWithWebpack(), /Paris/);
});

test('an encoder in Node, from Vite and from webpack', async () => {
  const id = 'all-minilm-l6-v2';
  run('npx', 'multihead', 'models', 'add', id, 'public/models', '--int8', '--from', join(ROOT, 'models'));
  writeFileSync(join(site, 'search.mjs'), block('search.mjs'));
  const [answer = '', other = ''] = run(process.execPath, 'search.mjs').split('\n');
  assert.match(answer, /^0\.\d\d Hold the button/);
  assert.match(other, /^-?0\.\d\d The weather/);
  assert(parseFloat(answer) > parseFloat(other));
  const script = block('search.mjs')
    .replace(/^configure\(.*$/m, '')
    .replace('configure, ', '')
    .replace('console.log', 'document.body.append');
  writeFileSync(join(site, 'main.js'), script);
  writeFileSync(join(site, 'index.html'), block('index.html'));
  await serveAndVisit(buildWithVite(), /Hold the button/);
  await visitDeveloped(/Hold the button/);
  await serveAndVisit(await buildWithWebpack(), /Hold the button/);
});
