// Runs the tests of the page: two files at a time, as most wait for a browser half of the time; then one at a time those
// that measure how long something takes.

import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Files that ask how long a task of the page's main thread takes, though in time of the processor. */
const MEASURING = ['page', 'search'].map((name) => `${name}.test.mjs`);

const folder = fileURLToPath(new URL('.', import.meta.url));
const files = readdirSync(folder).filter((name) => name.endsWith('.test.mjs'));
const others = files.filter((name) => !MEASURING.includes(name));

/** Whether the tests of these files pass. @param {string[]} names @param {number} atOnce */
function pass(names, atOnce) {
  const options = ['--test', '--test-reporter=spec', `--test-concurrency=${atOnce}`];
  const { status } = spawnSync(process.execPath, [...options, ...names], { cwd: folder, stdio: 'inherit' });
  return status === 0;
}

const passed = [pass(others, 2), pass(MEASURING, 1)];
process.exitCode = passed.every(Boolean) ? 0 : 1;
