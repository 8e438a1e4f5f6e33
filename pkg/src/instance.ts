// The worker's wasm: the best module its browser takes, and the threads of its pool, which are workers of the same
// script in another role.

import initRelaxed, * as relaxed from '../wasm/multihead_relaxed.js';
import initSimd128, * as simd128 from '../wasm/multihead_simd128.js';
import initThreads, * as threads from '../wasm/multihead_threads.js';
import { MultiheadError, reasonOf } from './errors.js';
import type { StartMessage } from './protocol.js';
import type { Wasm } from './serve.js';
import { choose, described, engineFacts, type Choice, type Variant } from './variant.js';

// The literal form is what bundlers look for.
const FILES: Readonly<Record<Variant, URL>> = {
  simd128: new URL('../wasm/multihead_simd128_bg.wasm', import.meta.url),
  relaxed: new URL('../wasm/multihead_relaxed_bg.wasm', import.meta.url),
  threads: new URL('../wasm/multihead_threads_bg.wasm', import.meta.url),
};

/** Bytes of a thread's stack; what the ops need is far less. */
const THREAD_STACK = 1 << 18;

/** How patient the start is. Tests lengthen it. */
export const patience = {
  /** Milliseconds that a thread may take to come in. */
  thread: 5000,
};

/** What a worker is told that becomes a thread. */
export interface ThreadMessage {
  kind: 'thread';
  module: WebAssembly.Module;
  memory: WebAssembly.Memory;
}

/** What a browser's worker and Node's do in ways of their own. */
export interface Host {
  /** Whether memory may be shared between workers. */
  readonly isolated: boolean;
  compile(url: URL): Promise<WebAssembly.Module>;
  /** Starts a worker of the same script; `entered` is called once, with whether it says that it is a thread now. */
  startThread(message: ThreadMessage, entered: (isThere: boolean) => void): void;
}

/** Compiles and starts the module. Only the chosen one is fetched. */
export async function instantiate(host: Host, { threads: wanted, wasmBase }: StartMessage): Promise<Wasm> {
  const facts = { ...engineFacts(), isolated: host.isolated };
  const choice = choose(wanted, facts);
  if (choice.variant !== 'threads') return onOneThread(host, wasmBase, choice);
  const module = await compiled(host, wasmBase, choice.variant);
  try {
    return await withThreads(host, module, choice);
  } catch (cause) {
    // Some engines set the whole of a shared memory's largest size aside, and do not always have it.
    if (!(cause instanceof RangeError)) throw cause;
    const why = `shared memory could not be had (${cause.message})`;
    return onOneThread(host, wasmBase, { ...choose(1, facts), why });
  }
}

async function compiled(
  host: Host,
  wasmBase: string | undefined,
  variant: Variant,
): Promise<WebAssembly.Module> {
  const url = wasmBase === undefined ? FILES[variant] : new URL(`multihead_${variant}_bg.wasm`, wasmBase);
  try {
    return await host.compile(url);
  } catch (cause) {
    const file = url.pathname.slice(url.pathname.lastIndexOf('/') + 1);
    throw new MultiheadError(
      `${file} could not be loaded: ${reasonOf(cause)} (${url.href}). Is it served beside the package, and does the page's CSP have 'wasm-unsafe-eval'? See configure({ wasmBase })`,
      { code: 'download-failed', file },
    );
  }
}

async function onOneThread(host: Host, wasmBase: string | undefined, choice: Choice): Promise<Wasm> {
  const simple = choice.variant === 'simd128';
  const module = await compiled(host, wasmBase, choice.variant);
  const { memory } = await (simple ? initSimd128 : initRelaxed)({ module_or_path: module });
  const { TranslationModel } = simple ? simd128 : relaxed;
  return { memory, TranslationModel, computes: Promise.resolve(described(choice)) };
}

async function withThreads(host: Host, module: WebAssembly.Module, choice: Choice): Promise<Wasm> {
  const { memory } = await initThreads({ module_or_path: module });
  // The threads come in while a model is loaded; until then, and where one cannot start, the others do its work.
  const entering = Array.from(
    { length: choice.threads - 1 },
    () =>
      new Promise<boolean>((resolve) => {
        // One that is late works along all the same; nobody waits for it.
        setTimeout(resolve, patience.thread, false);
        try {
          host.startThread({ kind: 'thread', module, memory }, resolve);
        } catch {
          resolve(false);
        }
      }),
  );
  const computes = Promise.all(entering).then((entered) => {
    const there = 1 + entered.filter(Boolean).length;
    const lacking = choice.threads - there;
    return described({
      variant: 'threads',
      threads: there,
      why: lacking === 0 ? '' : `${lacking} more could not be started`,
    });
  });
  return { memory, TranslationModel: threads.TranslationModel, computes };
}

/** Makes this worker a thread of the pool; does not return. */
export function becomeThread({ module, memory }: ThreadMessage, entered: () => void): void {
  threads.initSync({ module, memory, thread_stack_size: THREAD_STACK });
  entered();
  try {
    threads.serveThread();
  } catch (trap) {
    // Whoever waits for this thread's part of the work has to know.
    threads.loseThread();
    throw trap;
  }
}
