// Counts what a worker asks of its GPU, by the browser's own classes, and loses the device on demand. Before the package
// is there, so that nothing escapes.

/** @type {import('../globals.js').GpuCounts} */
const counts = { dispatches: 0, submits: 0, reads: 0, pipelines: 0, groups: 0, devices: 0 };
/** @type {GPUDevice[]} */
const devices = [];

/**
 * Has `seen` see each call of a method first.
 * @template {object} T @param {T} prototype @param {keyof T & string} name @param {(result: unknown) => void} seen
 */
function watch(prototype, name, seen) {
  const method = /** @type {(...given: unknown[]) => unknown} */ (Reflect.get(prototype, name));
  Reflect.set(prototype, name, function watched(/** @type {unknown[]} */ ...given) {
    // @ts-expect-error: `this` is what the method was called on.
    const result = method.apply(this, given);
    seen(result);
    return result;
  });
}

/** @param {Promise<GPUDevice>} requested */
async function keep(requested) {
  counts.devices = devices.push(await requested);
}

/** @param {keyof typeof counts} name */
const count = (name) => () => {
  counts[name]++;
};

watch(GPUComputePassEncoder.prototype, 'dispatchWorkgroups', count('dispatches'));
watch(GPUQueue.prototype, 'submit', count('submits'));
watch(GPUBuffer.prototype, 'mapAsync', count('reads'));
watch(GPUDevice.prototype, 'createComputePipeline', count('pipelines'));
watch(GPUDevice.prototype, 'createBindGroup', count('groups'));
watch(GPUAdapter.prototype, 'requestDevice', (promise) => {
  void keep(/** @type {Promise<GPUDevice>} */ (promise));
});

// Nobody else listens here: the worker's own messages are the package's.
const channel = new BroadcastChannel('gpu');
let destroyAfter = Infinity;
watch(GPUQueue.prototype, 'submit', () => {
  if (--destroyAfter <= 0) {
    destroyAfter = Infinity;
    devices.at(-1)?.destroy();
  }
});
channel.addEventListener('message', ({ data }) => {
  if (data === 'counts') channel.postMessage(counts);
  // After so many submits.
  else if (typeof data === 'number') destroyAfter = data;
});
