// What a worker's start has to know of the wasm modules of a family, one for each variant.

import type { Variant } from './variant.js';

/** A module's script as wasm-bindgen writes it, as far as the start uses it. */
export interface Glue {
  default(options: { module_or_path: WebAssembly.Module }): Promise<{ memory: WebAssembly.Memory }>;
}

/** The script of the module whose memory is shared. */
export interface ThreadGlue extends Glue {
  initSync(options: {
    module: WebAssembly.Module;
    memory: WebAssembly.Memory;
    thread_stack_size: number;
  }): unknown;
  serveThread(): void;
  loseThread(): void;
}

/** The modules of a family. */
export interface Modules<Script extends Glue> {
  /** Beginning of the names of their files. */
  prefix: string;
  scripts: Record<Exclude<Variant, 'threads'>, Script> & { threads: Script & ThreadGlue };
  files: Readonly<Record<Variant, URL>>;
}
