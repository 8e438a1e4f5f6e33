// Long work in short tasks: between them the page draws and takes keys.

/** Longest stretch of work in one task, in milliseconds. */
const STRETCH = 5;

export class Pace {
  #end = performance.now() + STRETCH;

  /** Whether it is time for a {@link rest}. */
  get isOver() {
    return performance.now() > this.#end;
  }

  /** Goes on in another task. */
  async rest() {
    await nextTask();
    this.#end = performance.now() + STRETCH;
  }
}

/** Timers wait for milliseconds once they are nested; messages don't. @returns {Promise<void>} */
function nextTask() {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.addEventListener('message', () => {
      port1.close();
      resolve();
    });
    port1.start();
    port2.postMessage(undefined);
  });
}
