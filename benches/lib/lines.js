// Texts to translate: files of one text a line.

import { readFile } from 'node:fs/promises';
import path from 'node:path';

/** Lines of a file. */
export async function linesOf(file) {
  const text = await readFile(file, 'utf8');
  return text.replace(/\n$/u, '').split('\n');
}

/** Lines of `dev.<language>` in a FLORES folder. */
export function floresLines(folder, language) {
  return linesOf(path.join(folder, `dev.${language}`));
}
