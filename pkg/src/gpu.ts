// What the page knows of GPUs: which models go to one, its worker, and what happens when it fails. Fetched only where the
// browser has WebGPU and a model may compute there.

import { chooseDevice, isSoftware, nameOf, stepOf, type AdapterFacts } from './choose-device.js';
import type { Place } from './devices.js';
import { MultiheadError, reasonOf } from './errors.js';
import type { ModelKind } from './kinds.js';
import type { Computing } from './options.js';
import { spawnWorker, type Spawn } from './platform.js';

/** Two failures in so many milliseconds, and models are loaded on the CPU. */
const SPELL = 300_000;

/** When GPUs were lost, and why the last one was. */
let losses: number[] = [];
/** Why no GPU is taken any more: none could be started. */
let refusal: string | undefined;

const spawn: Spawn = (_, events, url) => {
  let isStarted = false;
  const failed = (reason: string): void => {
    if (isStarted) losses.push(Date.now());
    else refusal = reason;
  };
  const seen: typeof events = {
    message: (message) => {
      if (message.kind === 'trap') failed(message.reason);
      // The first answer is that it has started.
      else if (message.kind === 'answer') isStarted = true;
      else if (message.kind === 'error' && !isStarted) failed(message.error.message);
      events.message(message);
    },
    dead: (reason) => {
      failed(reason);
      events.dead(reason);
    },
  };
  const worker =
    url === undefined
      ? // The literal form is what bundlers look for.
        new Worker(new URL('./gpu-worker.js', import.meta.url), { type: 'module', name: 'multihead-gpu' })
      : new Worker(url, { type: 'module', name: 'multihead' });
  return spawnWorker(worker, seen, url?.href ?? "the package's worker of GPUs");
};

/** As `devices.ts` says, where there is WebGPU. */
export async function placeOf(
  kind: ModelKind,
  { device, precision, kvCache }: Computing,
  bytes: number | undefined,
  fault: unknown,
): Promise<Place> {
  if (refusal !== undefined) return { reason: `the GPU cannot be used: ${refusal}` };
  if (fault instanceof MultiheadError && fault.code !== 'device-lost') {
    return { reason: `the GPU failed: ${fault.message}` };
  }
  losses = losses.filter((time) => Date.now() - time < SPELL);
  if (losses.length > 1) return { reason: 'the GPU was lost twice within five minutes' };
  const isOpen = device === 'auto';
  if (isOpen && precision === 'int8') return { reason: 'int8 products are the CPU’s' };
  if (isOpen && kvCache === 'int8') return { reason: "kvCache: 'int8' is the CPU's" };
  const adapter = await adapterFacts();
  if (typeof adapter === 'string') return { reason: adapter };
  const { reason, ...choice } = chooseDevice(adapter, stepOf(kind, bytes ?? Infinity));
  if (isOpen && choice.device === 'cpu') return { reason };
  const name = `${nameOf(adapter)}${isSoftware(adapter) ? ', which is software' : ''}`;
  return { reason: name, gpu: { spawn, isOver } };
}

/** What the browser says of its adapter, or why there is none. */
async function adapterFacts(): Promise<AdapterFacts | string> {
  try {
    const adapter = await navigator.gpu.requestAdapter({ powerPreference: 'high-performance' });
    if (adapter === null) return 'the browser has no GPU to give';
    const { vendor, architecture, device, description, isFallbackAdapter } = adapter.info;
    const { maxStorageBufferBindingSize, maxBufferSize } = adapter.limits;
    const names = { vendor, architecture, device, description };
    return { ...names, isFallbackAdapter, maxStorageBufferBindingSize, maxBufferSize };
  } catch (thrown) {
    return `the browser gives no GPU: ${reasonOf(thrown)}`;
  }
}

/** Whether it is the GPU that failed a model that was being loaded, and not the model. */
function isOver(thrown: unknown, isAlive: boolean): boolean {
  if (!(thrown instanceof MultiheadError)) return false;
  return !isAlive || ['device-lost', 'out-of-memory', 'internal'].includes(thrown.code);
}
