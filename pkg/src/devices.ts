// Where a model computes. What knows of GPUs is a part of its own, which the entry names and which is fetched only where
// a GPU is there to be asked.

import { reasonOf } from './errors.js';
import type * as gpuPart from './gpu.js';
import type { ModelKind } from './kinds.js';
import type { Computing } from './options.js';
import type { Spawn } from './platform.js';

/** A place to compute, and why there. */
export interface Place {
  /** A sentence for people, empty where it was asked for. */
  reason: string;
  /** Of a GPU: starts its worker, and says after a failure whether the model is to be loaded once more, elsewhere. */
  gpu?: { spawn: Spawn; isOver: (thrown: unknown, isAlive: boolean) => boolean };
}

let loading: (() => Promise<typeof gpuPart>) | undefined;

/** Set once by the entry that knows of GPUs. */
export function useGpu(load: () => Promise<typeof gpuPart>): void {
  loading = load;
}

/** The place for a model of so many bytes; `fault` is what the last place has failed with. */
export async function placeOf(
  kind: ModelKind,
  computing: Computing,
  bytes: number | undefined,
  fault?: unknown,
): Promise<Place> {
  const { device } = computing;
  if (device === 'cpu') return { reason: '' };
  if (device === 'auto' && kind === 'translation') {
    return { reason: "a GPU pays for many texts at once only: device: 'webgpu'" };
  }
  if (loading === undefined) return { reason: 'this entry of the package has no GPU code' };
  if (!('gpu' in navigator)) return { reason: 'no WebGPU here' };
  try {
    return await (await loading()).placeOf(kind, computing, bytes, fault);
  } catch (thrown) {
    return { reason: `gpu.js could not be loaded (${reasonOf(thrown)})` };
  }
}
