// Which device a model gets where the caller leaves it open, from what browsers say of adapters.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseDevice, isSoftware, nameOf, stepOf } from '../dist/choose-device.js';

/** As Chromium 156 says of its own software, recorded on a machine without a GPU. */
const SWIFTSHADER = {
  vendor: 'google',
  architecture: 'swiftshader',
  device: '',
  description: '',
  isFallbackAdapter: true,
  maxStorageBufferBindingSize: 1_073_741_824,
  maxBufferSize: 1_073_741_824,
};

/** In the form that Chromium has for GPUs; the limits are those that WebGPU guarantees. */
const LAPTOP = {
  vendor: 'intel',
  architecture: 'gen-12lp',
  device: '',
  description: '',
  isFallbackAdapter: false,
  maxStorageBufferBindingSize: 134_217_728,
  maxBufferSize: 268_435_456,
};

/** A browser that says nothing of its GPU. */
const SILENT = { ...LAPTOP, vendor: '', architecture: '', isFallbackAdapter: undefined };

const MINILM = stepOf('encoder', 91_336_289);
const SMOLLM2 = stepOf('text', 98_362_432);

test('a GPU is taken where the model gains from it', () => {
  for (const step of [MINILM, SMOLLM2]) {
    assert.deepEqual(chooseDevice(LAPTOP, step), { device: 'webgpu', reason: 'intel gen-12lp' });
    assert.deepEqual(chooseDevice(SILENT, step), { device: 'webgpu', reason: 'a GPU without a name' });
  }
});

test('software is not, whatever it calls itself', () => {
  const others = [
    { ...SILENT, description: 'llvmpipe (LLVM 19.1.7, 256 bits)' },
    { ...SILENT, description: 'Microsoft Basic Render Driver' },
    { ...SILENT, isFallbackAdapter: true },
  ];
  for (const adapter of [SWIFTSHADER, ...others]) {
    assert(isSoftware(adapter));
    const { device, reason } = chooseDevice(adapter, MINILM);
    assert.equal(device, 'cpu');
    assert.match(reason, /is software/);
  }
  assert(!isSoftware(LAPTOP) && !isSoftware(SILENT));
});

test('without an adapter, or with one that takes small buffers only, it is the CPU', () => {
  assert.match(chooseDevice(undefined, MINILM).reason, /no GPU/);
  const small = chooseDevice({ ...LAPTOP, maxStorageBufferBindingSize: 2 ** 20 }, MINILM);
  assert.equal(small.device, 'cpu');
  assert.match(small.reason, /less than 128 MB/);
});

test('a small model stays on the CPU', () => {
  // A token of 4 MB takes the CPU 0.6 ms, and 184 dispatches of 0.02 ms are 3.7.
  const tiny = chooseDevice(LAPTOP, stepOf('text', 4_000_000));
  assert.equal(tiny.device, 'cpu');
  assert.match(tiny.reason, /no longer than telling/);
  // One of 60 MB takes it 9 ms.
  assert.equal(chooseDevice(LAPTOP, stepOf('text', 60_000_000)).device, 'webgpu');
  // A batch of texts is 512 rows, for which 0.2 MB already are more than 45 dispatches.
  assert.equal(chooseDevice(LAPTOP, stepOf('encoder', 100_000)).device, 'cpu');
  assert.equal(chooseDevice(LAPTOP, stepOf('encoder', 1_000_000)).device, 'webgpu');
});

test('an adapter is called by what is known of it', () => {
  assert.equal(nameOf(SWIFTSHADER), 'google swiftshader');
  assert.equal(nameOf({ ...LAPTOP, description: 'Iris Xe' }), 'Iris Xe');
});
