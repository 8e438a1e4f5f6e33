// Which of the wasm modules a browser gets, and on how many threads it computes.

/** A module with plain SIMD, one with relaxed SIMD too, and one with threads on top of both. */
export type Variant = 'simd128' | 'relaxed' | 'threads';

/** What a worker knows of where it runs. */
export interface Facts {
  /** Whether the engine takes instructions of relaxed SIMD. */
  relaxed: boolean;
  /** Whether the engine takes shared memories and atomic instructions. */
  atomics: boolean;
  /** Whether memory may be shared between workers. */
  isolated: boolean;
}

export interface Choice {
  variant: Variant;
  threads: number;
  /** Why not more of it, for people; empty if there is no more. */
  why: string;
}

/** Most threads that 'auto' takes: with more, small models wait for one another more than they gain. */
const AUTO_THREADS = 4;
/** Most threads that the wasm's pool shares work among. */
const MOST_THREADS = 8;

/** Threads to ask for where `cores` are there and memory may be shared. */
export function threadsWanted(wanted: number | 'auto', cores: number): number {
  return wanted === 'auto' ? Math.max(1, Math.min(cores, AUTO_THREADS)) : Math.min(wanted, MOST_THREADS);
}

/** The best module for up to `threads` threads. */
export function choose(threads: number, { relaxed, atomics, isolated }: Facts): Choice {
  const variant = relaxed ? 'relaxed' : 'simd128';
  if (!isolated) return { variant, threads: 1, why: 'the page is not cross-origin isolated' };
  if (!atomics) return { variant, threads: 1, why: 'there are no threads in WebAssembly here' };
  if (!relaxed) {
    const why = threads > 1 ? 'the module with threads needs relaxed SIMD, which is lacking here' : '';
    return { variant, threads: 1, why };
  }
  return threads > 1 ? { variant: 'threads', threads, why: '' } : { variant, threads: 1, why: '' };
}

/** For people: "relaxed SIMD, 2 threads". */
export function described({ variant, threads, why }: Choice): string {
  const simd = variant === 'simd128' ? 'SIMD' : 'relaxed SIMD';
  return `${simd}, ${threads} thread${threads === 1 ? '' : 's'}${why === '' ? '' : `: ${why}`}`;
}

/** Asks the engine with modules of one function each, written out by hand. */
export function engineFacts(): Pick<Facts, 'relaxed' | 'atomics'> {
  return { relaxed: WebAssembly.validate(RELAXED), atomics: WebAssembly.validate(ATOMICS) };
}

/** "\0asm", version 1. */
const HEADER = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];

// (func (result v128) (i8x16.relaxed_swizzle (i8x16.splat (i32.const 0)) (i8x16.splat (i32.const 0))))
const RELAXED = new Uint8Array(
  [
    HEADER,
    [1, 5, 1, 0x60, 0, 1, 0x7b], // types: () → v128
    [3, 2, 1, 0], // functions
    [10, 15, 1, 13, 0, 0x41, 0, 0xfd, 0x0f, 0x41, 0, 0xfd, 0x0f, 0xfd, 0x80, 2, 0x0b], // code
  ].flat(),
);

// (memory 1 1 shared) (func (drop (i32.atomic.load (i32.const 0))))
const ATOMICS = new Uint8Array(
  [
    HEADER,
    [1, 4, 1, 0x60, 0, 0], // types: () → ()
    [3, 2, 1, 0],
    [5, 4, 1, 3, 1, 1], // memories: shared, 1 page at least and at most
    [10, 11, 1, 9, 0, 0x41, 0, 0xfe, 0x10, 2, 0, 0x1a, 0x0b],
  ].flat(),
);
