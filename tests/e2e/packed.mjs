// Models as a site serves them: put into a folder by the package's own command.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Makes a folder with these models as gzip files; `remove` takes it away.
 * @param {string[]} ids
 */
export function packModels(...ids) {
  const folder = mkdtempSync(join(tmpdir(), 'multihead-models-'));
  const command = join(ROOT, 'pkg/dist/node/cli.js');
  execFileSync(process.execPath, [command, 'models', 'add', ...ids, folder, '--from', join(ROOT, 'models')]);
  return {
    folder,
    remove: () => {
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
