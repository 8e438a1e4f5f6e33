// The worker's wasm: the best module its browser takes, and the threads of its pool, which are workers of the same
// script in another role.

import { MultiheadError, reasonOf } from './errors.js';
import type { Glue, Modules, ThreadGlue } from './modules.js';
import type { StartMessage } from './protocol.js';
import { choose, described, engineFacts, type Choice, type Variant } from './variant.js';

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

/** A started module. */
export interface Instance<Script> {
  readonly memory: WebAssembly.Memory;
  readonly script: Script;
  /** What it computes on, once its threads are there: "relaxed SIMD, 2 threads". */
  readonly computes: Promise<string>;
}

/** Compiles and starts a module of the family. Only the chosen one is fetched. */
export async function instantiate<Script extends Glue>(
  host: Host,
  modules: Modules<Script>,
  { threads: wanted, wasmBase }: StartMessage,
): Promise<Instance<Script>> {
  const facts = { ...engineFacts(), isolated: host.isolated };
  const choice = choose(wanted, facts);
  const compiled = (variant: Variant): Promise<WebAssembly.Module> =>
    compileModule(
      (url) => host.compile(url),
      wasmBase,
      modules.files[variant],
      `${modules.prefix}_${variant}_bg.wasm`,
    );
  if (choice.variant !== 'threads') return onOneThread(modules, compiled, choice);
  const module = await compiled(choice.variant);
  try {
    return await withThreads(host, modules.scripts.threads, module, choice);
  } catch (cause) {
    // Some engines set the whole of a shared memory's largest size aside, and do not always have it.
    if (!(cause instanceof RangeError)) throw cause;
    const why = `shared memory could not be had (${cause.message})`;
    return onOneThread(modules, compiled, { ...choose(1, facts), why });
  }
}

/** Compiles the module `own`, or the one of its name in the folder `wasmBase`. */
export async function compileModule(
  compile: (url: URL) => Promise<WebAssembly.Module>,
  wasmBase: string | undefined,
  own: URL,
  name: string,
): Promise<WebAssembly.Module> {
  const url = wasmBase === undefined ? own : new URL(name, wasmBase);
  try {
    return await compile(url);
  } catch (cause) {
    // A bundler may have given it another one.
    const file = url.pathname.slice(url.pathname.lastIndexOf('/') + 1);
    throw new MultiheadError(
      `${file} could not be loaded: ${reasonOf(cause)} (${url.href}). Is it served beside the package, and does the page's CSP have 'wasm-unsafe-eval'? See configure({ wasmBase })`,
      { code: 'download-failed', file },
    );
  }
}

async function onOneThread<Script extends Glue>(
  { scripts }: Modules<Script>,
  compiled: (variant: Variant) => Promise<WebAssembly.Module>,
  choice: Choice,
): Promise<Instance<Script>> {
  const variant = choice.variant === 'simd128' ? 'simd128' : 'relaxed';
  const script = scripts[variant];
  const { memory } = await script.default({ module_or_path: await compiled(variant) });
  return { memory, script, computes: Promise.resolve(described(choice)) };
}

async function withThreads<Script extends ThreadGlue>(
  host: Host,
  script: Script,
  module: WebAssembly.Module,
  choice: Choice,
): Promise<Instance<Script>> {
  const { memory } = await script.default({ module_or_path: module });
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
  return { memory, script, computes };
}

/** Makes this worker a thread of the pool; does not return. */
export function becomeThread(
  { scripts }: { scripts: { threads: ThreadGlue } },
  { module, memory }: ThreadMessage,
  entered: () => void,
): void {
  const { threads } = scripts;
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
