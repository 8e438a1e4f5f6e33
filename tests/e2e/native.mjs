// What the native command line makes of a text, and the lines it is compared on.

import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Translates each line with `examples/translate.rs`.
 * @param {string} model An id. @param {readonly string[]} lines @returns {Promise<string[]>}
 */
export function translateNatively(model, lines) {
  return new Promise((resolve, reject) => {
    const cargo = spawn(
      'cargo',
      // In the profile of the tests of whole models, which is compiled by then, or compiles in less than half of the time.
      ['run', '--quiet', '--profile', 'models', '--example', 'translate', '--', join('models', model)],
      { cwd: ROOT, stdio: ['pipe', 'pipe', 'inherit'] },
    );
    /** @type {Buffer[]} */
    const chunks = [];
    cargo.stdout.on('data', (/** @type {Buffer} */ chunk) => chunks.push(chunk));
    cargo.on('error', reject);
    cargo.on('close', (code) => {
      if (code !== 0) reject(new Error(`the native translation ended with ${code}`));
      else resolve(Buffer.concat(chunks).toString('utf8').replace(/\n$/, '').split('\n'));
    });
    cargo.stdin.end(`${lines.join('\n')}\n`);
  });
}

/** Sentences of our own for each direction. */
export const SENTENCES = {
  'en-pt': [
    'The cat sleeps on the warm stones.',
    'How much does it cost to send this letter to Lisbon?',
    'She said, "I will be back before noon," and closed the door.',
    'BREAKING: MINISTER RESIGNS',
    'Yes.',
    'Open https://example.org/a?b=1 or write to help@example.org, 24 hours a day.',
    'The price rose by 3.5% to $1,299.00 in 2024. Nobody was surprised.',
    'Hello {name}, you have %d new messages 🎉',
    '12345',
    'They had been walking for hours when, without any warning, the rain turned to snow and the path, which had been easy to follow until then, disappeared under their feet.',
  ],
  'pt-en': [
    'O gato dorme nas pedras quentes.',
    'Quanto custa enviar esta carta para Lisboa?',
    'Ela disse que voltaria antes do meio-dia e fechou a porta.',
    'Não há dúvida de que as crianças gostaram do espetáculo.',
    'Sim.',
  ],
};

/**
 * The first FLORES lines of a language, or none (said loudly) where the data is not at hand.
 * @param {'en' | 'pt'} language @param {number} count
 */
export function floresLines(language, count) {
  const folders = [process.env['MULTIHEAD_FLORES'], join(ROOT, '../shared/data/flores-en-pt-dev')];
  for (const folder of folders) {
    const file = folder === undefined ? undefined : join(folder, `dev.${language}`);
    if (file !== undefined && existsSync(file)) {
      return readFileSync(file, 'utf8').split('\n').slice(0, count);
    }
  }
  process.emitWarning(`SKIPPED: no FLORES dev.${language}: neither $MULTIHEAD_FLORES nor ../shared has it`);
  return [];
}

/** Whether the model's files are there. @param {string} id */
export function hasModel(id) {
  return existsSync(join(ROOT, 'models', id));
}
