// The wasm modules on 64-bit Arm: Node for Arm, which qemu runs here. $MULTIHEAD_ARM64_NODE is how.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { SENTENCES, translateNatively } from '../e2e/native.mjs';

const run = promisify(execFile);
const node = process.env['MULTIHEAD_ARM64_NODE'];

// Where relaxed SIMD is compiled in, Arm's own product of bytes is what computes.
for (const variant of ['simd128', 'relaxed']) {
  test(`${variant} on 64-bit Arm gives the text of the native command line`, async () => {
    assert(node !== undefined, 'MULTIHEAD_ARM64_NODE is not set: run cargo xtask test arm64');
    const lines = SENTENCES['en-pt'].slice(0, 6);
    const expected = await translateNatively('en-pt', lines);
    const script = fileURLToPath(new URL('translate.mjs', import.meta.url));
    const { stdout } = await run(node, [script, variant, JSON.stringify(lines)], { timeout: 3_600_000 });
    assert.deepEqual(JSON.parse(stdout), { architecture: 'arm64', texts: expected });
  });
}
