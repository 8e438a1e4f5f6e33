// Whether a file begins as GGUF does, and what it may be instead.

const MAGIC = [0x47, 0x47, 0x55, 0x46];

/** What is wrong with the bytes that come after the first `before` of a file; undefined where it may be GGUF. */
export function faultOfMagic(chunk: Uint8Array, before: number): string | undefined {
  if (MAGIC.every((byte, place) => place < before || byte === (chunk[place - before] ?? byte)))
    return undefined;
  const begin = JSON.stringify(new TextDecoder().decode(chunk.subarray(0, 24)));
  return `it is no GGUF file: it begins with ${begin} in place of "GGUF"`;
}
