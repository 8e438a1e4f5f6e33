// The worker's side of the option `attention`.

import type { AttentionMessage } from './protocol.js';
import type { Attention } from './types.js';

/** A job that can be asked for its attention before its first step. */
export interface Watched {
  /** Bits of `kinds` in the order 'encoder', 'decoder', 'cross'; 0 and empty lists: all. */
  watch(kinds: number, layers: Uint32Array, heads: Uint32Array): void;
  free(): void;
}

/** The job, asked for its attention; one that cannot give it is freed. */
export function watched<Job extends Watched>(job: Job, request: AttentionMessage | undefined): Job {
  if (request === undefined) return job;
  try {
    job.watch(request.kinds, Uint32Array.from(request.layers), Uint32Array.from(request.heads));
    return job;
  } catch (thrown) {
    job.free();
    throw thrown;
  }
}

/** The buffers of the weights, which go over to the page. */
export function buffersOf(attention: Attention | undefined): ArrayBuffer[] {
  const { encoder, decoder, cross } = attention ?? {};
  return [encoder, decoder, cross].flatMap((kind) => (kind === undefined ? [] : [kind.weights.buffer]));
}
