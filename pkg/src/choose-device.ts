// Whether a model computes on the GPU where the caller leaves it open: a function of what the browser says of the adapter
// and of what a step of the model costs. It is decided before a byte of the module for the GPU is fetched.

import type { ModelKind } from './kinds.js';

/** What a browser says of an adapter: `GPUAdapterInfo`, which is often left empty, and two of its limits. */
export interface AdapterFacts {
  vendor: string;
  architecture: string;
  device: string;
  description: string;
  /** Whether the browser says that it computes on the CPU; Firefox does not say. */
  isFallbackAdapter?: boolean | undefined;
  maxStorageBufferBindingSize: number;
  maxBufferSize: number;
}

/** What a model asks of a device each time: for a token of a text being written, or a batch of texts being read. */
export interface StepShape {
  /** Bytes of the weights, each of which is read. */
  bytes: number;
  /** Rows that each weight is multiplied with: one for a token, all tokens of a batch for texts. */
  rows: number;
  /** Kernels that a step dispatches. */
  dispatches: number;
}

export interface DeviceChoice {
  device: 'webgpu' | 'cpu';
  /** A clause for people. */
  reason: string;
}

/** What every device of WebGPU's core has; less is a compatibility mode. */
const CORE_BINDING = 128 * 2 ** 20;
/** Names of adapters that compute on the CPU: Chromium's, Mesa's, Windows'. */
const SOFTWARE = /swiftshader|llvmpipe|lavapipe|basic render/i;
/** Bytes of weights that this package reads a millisecond on one thread, measured: for one row, and times rows for many. */
const CPU_BYTES = 6.5e6;
const CPU_BYTES_BY_ROW = 72e6;
/** Milliseconds that a dispatch takes however little it computes, between the 0.006 and 0.07 of browsers. */
const DISPATCH = 0.02;
/** The GPU must promise so much more, for what it takes to load there. */
const GAIN = 1.5;

/** Steps as this package's models of a kind have them: a token, a batch of sixteen texts, a token of sixteen sentences. */
const STEPS: Readonly<Record<ModelKind, Omit<StepShape, 'bytes'>>> = {
  text: { rows: 1, dispatches: 184 },
  encoder: { rows: 16 * 32, dispatches: 45 },
  translation: { rows: 16, dispatches: 23 },
};

/** A step of a model of a kind, of so many bytes. */
export function stepOf(kind: ModelKind, bytes: number): StepShape {
  return { ...STEPS[kind], bytes };
}

/** Whether an adapter computes on the CPU, as far as it is told. */
export function isSoftware({
  vendor,
  architecture,
  device,
  description,
  isFallbackAdapter,
}: AdapterFacts): boolean {
  return isFallbackAdapter === true || SOFTWARE.test([vendor, architecture, device, description].join(' '));
}

/** An adapter's name, as far as it is told. */
export function nameOf({ vendor, architecture, device, description }: AdapterFacts): string {
  const parts = [vendor, architecture].filter((text) => text !== '').join(' ');
  return [description, device, parts].find((text) => text !== '') ?? 'a GPU without a name';
}

/** Device for a model of which nothing is asked; `adapter` is what the browser gave, if it gave one. */
export function chooseDevice(adapter: AdapterFacts | undefined, step: StepShape): DeviceChoice {
  if (adapter === undefined) return cpu('the browser has no GPU to give');
  const name = nameOf(adapter);
  if (isSoftware(adapter)) return cpu(`the browser's GPU (${name}) is software, and slower than the CPU`);
  if (Math.min(adapter.maxStorageBufferBindingSize, adapter.maxBufferSize) < CORE_BINDING) {
    return cpu(`the GPU (${name}) takes buffers of less than 128 MB`);
  }
  const onCpu = Math.max(step.bytes / CPU_BYTES, (step.bytes * step.rows) / CPU_BYTES_BY_ROW);
  if (onCpu < GAIN * DISPATCH * step.dispatches) {
    return cpu('a step of this model takes the CPU no longer than telling a GPU of it');
  }
  return { device: 'webgpu', reason: name };
}

function cpu(reason: string): DeviceChoice {
  return { device: 'cpu', reason };
}
