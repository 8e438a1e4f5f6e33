// Contents of files: their hash, and gzip undone.

import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

/** Decompresses a gzip file. */
export const unpack = promisify(gunzip);

/** SHA-256 in hexadecimal digits. */
export function hash(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
