// `multihead models list`: what an index offers.

import type { Console } from './console.js';
import { type Offer, offers } from './offers.js';

/** Prints a line for each model. */
export async function list(index: URL, console: Console, signal: AbortSignal): Promise<void> {
  for (const offer of await offers(index, signal)) console.say(line(offer));
}

function line({ id, from, to, architecture, files, licence }: Offer): string {
  const sizes = files.map(({ gzipBytes, bytes }) => gzipBytes ?? bytes);
  const known = sizes.every((size) => size !== undefined);
  const total = sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
  const size = known ? `${(total / 1e6).toFixed(1)} MB` : '? MB';
  return [
    id.padEnd(16),
    `${from ?? '?'} → ${to ?? '?'}`.padEnd(14),
    size.padStart(8),
    (architecture ?? '').padEnd(12),
    licence,
  ].join('  ');
}
