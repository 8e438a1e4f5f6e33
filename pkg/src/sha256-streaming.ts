// SHA-256 piece by piece (FIPS 180-4), where crypto.subtle, which wants all at once, is not there or the file too long.

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

/** SHA-256 of what comes piece by piece. */
export class Sha256 {
  readonly #state = INITIAL.slice();
  readonly #words = new Int32Array(64);
  readonly #block = new Uint8Array(64);
  readonly #view = new DataView(this.#block.buffer);
  #filled = 0;
  #length = 0;

  update(bytes: Uint8Array): void {
    this.#length += bytes.length;
    let start = 0;
    if (this.#filled > 0) {
      start = Math.min(64 - this.#filled, bytes.length);
      this.#block.set(bytes.subarray(0, start), this.#filled);
      this.#filled += start;
      if (this.#filled < 64) return;
      this.#compress(this.#view, 0);
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    for (; start + 64 <= bytes.length; start += 64) this.#compress(view, start);
    this.#block.set(bytes.subarray(start));
    this.#filled = bytes.length - start;
  }

  /** Hexadecimal; nothing can be added after it. */
  digest(): string {
    const bits = this.#length * 8;
    const padding = new Uint8Array((this.#filled < 56 ? 64 : 128) - this.#filled);
    padding[0] = 0x80;
    const end = new DataView(padding.buffer);
    end.setUint32(padding.length - 8, Math.floor(bits / 2 ** 32));
    end.setUint32(padding.length - 4, bits >>> 0);
    this.update(padding);
    return Array.from(this.#state, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
  }

  /** Takes in the 64 bytes at `start`. */
  #compress(view: DataView, start: number): void {
    const words = this.#words;
    const state = this.#state;
    for (let i = 0; i < 16; i++) words[i] = view.getInt32(start + i * 4);
    for (let i = 16; i < 64; i++) {
      const x = at(words, i - 15);
      const y = at(words, i - 2);
      const small0 = turned(x, 7) ^ turned(x, 18) ^ (x >>> 3);
      const small1 = turned(y, 17) ^ turned(y, 19) ^ (y >>> 10);
      words[i] = (at(words, i - 16) + small0 + at(words, i - 7) + small1) | 0;
    }
    let a = at(state, 0);
    let b = at(state, 1);
    let c = at(state, 2);
    let d = at(state, 3);
    let e = at(state, 4);
    let f = at(state, 5);
    let g = at(state, 6);
    let h = at(state, 7);
    for (let i = 0; i < 64; i++) {
      const big1 = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25);
      const t1 = (h + big1 + ((e & f) ^ (~e & g)) + at(ROUND, i) + at(words, i)) | 0;
      const big0 = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22);
      const t2 = (big0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + t1) | 0;
      d = c;
      c = b;
      b = a;
      a = (t1 + t2) | 0;
    }
    state[0] = at(state, 0) + a;
    state[1] = at(state, 1) + b;
    state[2] = at(state, 2) + c;
    state[3] = at(state, 3) + d;
    state[4] = at(state, 4) + e;
    state[5] = at(state, 5) + f;
    state[6] = at(state, 6) + g;
    state[7] = at(state, 7) + h;
  }
}

/** A word of an array that is long enough. */
function at(words: Int32Array, index: number): number {
  return words[index] ?? 0;
}

function turned(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}
