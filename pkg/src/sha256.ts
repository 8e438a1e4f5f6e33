// SHA-256 of a Blob (FIPS 180-4). crypto.subtle is there only in secure contexts and wants the whole
// input at once, so large files and plain-http pages take the streaming implementation below.

import { AT_ONCE, sizeOf, type FileData } from './content.js';

/** Hexadecimal SHA-256 of a file's content. */
export async function sha256(data: FileData): Promise<string> {
  const subtle = insecure() ? undefined : crypto.subtle;
  if (subtle !== undefined && sizeOf(data) <= AT_ONCE) {
    const bytes = data instanceof Blob ? await data.arrayBuffer() : data;
    return hexadecimal(new Uint8Array(await subtle.digest('SHA-256', bytes)));
  }
  return sha256Streaming(data instanceof Blob ? data : new Blob([data]));
}

function insecure(): boolean {
  return typeof crypto === 'undefined' || !('subtle' in crypto);
}

/** The same, chunk by chunk and without crypto.subtle. */
export async function sha256Streaming(blob: Blob): Promise<string> {
  const state = new Sha256();
  const reader = blob.stream().getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return hexadecimal(state.digest());
    state.update(value);
  }
}

function hexadecimal(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The first `count` primes. */
function primes(count: number): number[] {
  const found: number[] = [];
  for (let n = 2; found.length < count; n++) {
    if (found.every((prime) => n % prime !== 0)) found.push(n);
  }
  return found;
}

/** First 32 bits of the fraction of `x`. */
function fraction(x: number): number {
  return ((x - Math.floor(x)) * 2 ** 32) | 0;
}

const ROUND = Int32Array.from(primes(64), (prime) => fraction(Math.cbrt(prime)));
const INITIAL = Int32Array.from(primes(8), (prime) => fraction(Math.sqrt(prime)));

class Sha256 {
  readonly #state = INITIAL.slice();
  readonly #words = new Int32Array(64);
  readonly #block = new Uint8Array(64);
  readonly #view = new DataView(this.#block.buffer);
  #filled = 0;
  #length = 0;

  update(bytes: Uint8Array): void {
    this.#length += bytes.length;
    let start = 0;
    while (start < bytes.length) {
      const taken = Math.min(64 - this.#filled, bytes.length - start);
      this.#block.set(bytes.subarray(start, start + taken), this.#filled);
      this.#filled += taken;
      start += taken;
      if (this.#filled === 64) this.#compress();
    }
  }

  digest(): Uint8Array {
    const bits = this.#length * 8;
    this.update(Uint8Array.of(0x80));
    if (this.#filled > 56) this.update(new Uint8Array(64 - this.#filled));
    this.#block.fill(0, this.#filled);
    this.#view.setUint32(56, Math.floor(bits / 2 ** 32));
    this.#view.setUint32(60, bits >>> 0);
    this.#compress();
    const out = new DataView(new ArrayBuffer(32));
    this.#state.forEach((word, index) => {
      out.setInt32(index * 4, word);
    });
    return new Uint8Array(out.buffer);
  }

  #compress(): void {
    const words = this.#words;
    const word = (index: number): number => words[index] ?? 0;
    for (let i = 0; i < 16; i++) words[i] = this.#view.getInt32(i * 4);
    for (let i = 16; i < 64; i++) {
      const x = word(i - 15);
      const y = word(i - 2);
      const small0 = turned(x, 7) ^ turned(x, 18) ^ (x >>> 3);
      const small1 = turned(y, 17) ^ turned(y, 19) ^ (y >>> 10);
      words[i] = (word(i - 16) + small0 + word(i - 7) + small1) | 0;
    }
    let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = this.#state;
    for (let i = 0; i < 64; i++) {
      const big1 = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25);
      const t1 = (h + big1 + ((e & f) ^ (~e & g)) + (ROUND[i] ?? 0) + word(i)) | 0;
      const big0 = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22);
      const t2 = (big0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((value, index) => {
      this.#state[index] = ((this.#state[index] ?? 0) + value) | 0;
    });
    this.#filled = 0;
  }
}

function turned(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}
