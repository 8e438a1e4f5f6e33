// Waiting with AbortSignals.

import { platform } from './platform.js';

/** Has `stop` called when the signal is aborted; returns how to let go of it. */
export function listening(signal: AbortSignal | undefined, stop: () => void): () => void {
  if (signal === undefined) return () => undefined;
  platform().manyListen?.(signal);
  signal.addEventListener('abort', stop, { once: true });
  return () => {
    signal.removeEventListener('abort', stop);
  };
}

/** `promise`, or a rejection with the signal's reason as soon as it is aborted. The work itself is not stopped. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      reject(signal.reason as Error);
    };
    if (signal.aborted) stop();
    promise.then(resolve, reject).finally(listening(signal, stop));
  });
}

/**
 * Does `work` under a signal that follows both. Once it is done they are let go of, however long they live:
 * `AbortSignal.any` is missing in Node before 20.3 and in Safari before 17.4.
 */
export async function either<T>(
  first: AbortSignal | undefined,
  second: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (first === undefined) return work(second);
  const both = new AbortController();
  const unlisten = [first, second].map((signal) => {
    const stop = (): void => {
      both.abort(signal.reason);
    };
    if (signal.aborted) stop();
    return listening(signal, stop);
  });
  try {
    return await work(both.signal);
  } finally {
    for (const undo of unlisten) undo();
  }
}
