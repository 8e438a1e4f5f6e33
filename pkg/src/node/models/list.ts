// `multihead models list`: what an index offers.

import type { Console } from './console.js';
import { KNOWN } from './known-models.js';
import { type Offer, offers, PUBLIC_INDEX } from './offers.js';

/** Prints a line for each model, and how many entries cannot be read. */
export async function list(index: URL, console: Console, signal: AbortSignal): Promise<void> {
  const { all, unreadable } = await offers(index, signal);
  const own = index.href === PUBLIC_INDEX ? KNOWN : [];
  for (const offer of [...all, ...own]) console.say(line(offer));
  if (unreadable.length === 0) return;
  const ids = [...new Set(unreadable)].join(', ');
  console.say(`${unreadable.length} more of a shape that is not known here: ${ids}`);
}

function line({ id, tasks, from, to, architecture, files, licence }: Offer): string {
  const sizes = files.map(({ gzipBytes, bytes }) => gzipBytes ?? bytes);
  const known = sizes.every((size) => size !== undefined);
  const total = sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
  const size = known ? `${(total / 1e6).toFixed(1)} MB` : '? MB';
  const what = from === undefined && to === undefined ? tasks.join(', ') : `${from ?? '?'} → ${to ?? '?'}`;
  return [id.padEnd(22), what.padEnd(14), size.padStart(8), (architecture ?? '').padEnd(12), licence].join(
    '  ',
  );
}
