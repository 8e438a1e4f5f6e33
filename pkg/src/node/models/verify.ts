// `multihead models verify`: whether a folder holds what its index says.

import { join } from 'node:path';
import type { CatalogueFile, Packed } from '../../catalogue.js';
import { MultiheadError, reasonOf } from '../../errors.js';
import { hash, unpack } from './bytes.js';
import type { Console } from './console.js';
import { hashIfThere, readIfThere, readIndex } from './folder.js';

/** Checks every file of every model; says what is wrong and rejects if anything is. */
export async function verify(folder: string, console: Console): Promise<void> {
  const { models, unreadable } = await readIndex(folder);
  if (models.length === 0) {
    throw new MultiheadError(`${join(folder, 'index.json')} is missing or lists no model; see models add`, {
      code: 'model-not-found',
      file: 'index.json',
    });
  }
  let wrong = 0;
  for (const { id, base, files } of models) {
    for (const file of files) {
      const fault = await faultOf(join(folder, base), file);
      console.say(`${join(folder, base, file.gzip?.name ?? file.name)}: ${fault ?? 'ok'}`);
      if (fault !== undefined) wrong++;
    }
    console.say(`${id}: ${files.length} files`);
  }
  for (const { what, why } of unreadable) {
    console.say(`${join(folder, 'index.json')}: ${what} is no model record: ${why}`);
    wrong++;
  }
  if (wrong > 0) {
    throw new MultiheadError(
      `${wrong} files or entries are not what the index says; add their models again`,
      {
        code: 'model-corrupt',
      },
    );
  }
}

async function faultOf(place: string, file: CatalogueFile): Promise<string | undefined> {
  const { gzip } = file;
  if (gzip === undefined) {
    const found = await hashIfThere(join(place, file.name));
    return found === undefined ? 'missing' : differs(found, file);
  }
  const bytes = await readIfThere(join(place, gzip.name));
  if (bytes === undefined) return 'missing';
  const packed = differs(factsOf(bytes), gzip);
  if (packed !== undefined) return packed;
  try {
    const content = differs(factsOf(await unpack(bytes)), file);
    return content === undefined ? undefined : `its content: ${content}`;
  } catch (cause) {
    return `cannot be decompressed: ${reasonOf(cause)}`;
  }
}

/** Size and SHA-256 of a content. */
function factsOf(content: Uint8Array): { bytes: number; sha256: string } {
  return { bytes: content.length, sha256: hash(content) };
}

function differs(
  found: { bytes: number; sha256: string },
  { bytes, sha256 }: CatalogueFile | Packed,
): string | undefined {
  if (found.bytes !== bytes) return `has ${found.bytes} bytes, by the index ${bytes}`;
  if (found.sha256 === sha256) return undefined;
  return `its SHA-256 begins with ${found.sha256.slice(0, 12)}, by the index with ${sha256.slice(0, 12)}`;
}
