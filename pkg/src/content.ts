// What has come of a file so far. Gzip is told by its first bytes, not by a header or a name: servers undo
// or add it as they like. It is undone as it comes, so that only the content is gathered.

import { part } from './errors.js';
import type { Parts, Shelf } from './parts.js';

/** Longest file that is held as bytes: a Blob is written to another process and read from it again. */
export const AT_ONCE = 64 * 1024 * 1024;

/** A file's content. */
export type FileData = Blob | Uint8Array<ArrayBuffer>;

/** Bytes of a file. */
export function sizeOf(data: FileData): number {
  return data instanceof Blob ? data.size : data.length;
}

/** Bytes that tell what comes. */
const HEAD = 16;

/** The content is not what it should be; another attempt would bring the same. */
export class Damaged extends Error {}

/** A web page came in place of the file. */
export class WebPage extends Error {}

/** Whether the bytes begin a gzip file (RFC 1952; deflate is the only method there is). */
export function isGzip(head: Uint8Array): boolean {
  return head[0] === 0x1f && head[1] === 0x8b && head[2] === 8;
}

/** Whether a file of this name is to be GGUF. */
export function isGguf(name: string): boolean {
  return /\.gguf$/i.test(name);
}

/** What is known of a content before it comes. */
export interface Expected {
  /** Its bytes, where an index says them; more is {@link Damaged}. */
  bytes: number | undefined;
  /** Its bytes, as far as a server can say. */
  about: number | undefined;
  /** Longest content that is held as bytes. */
  atOnce: number;
  isGguf: boolean;
  /** Whether its hash is asked for. */
  hashed: boolean;
  /** Where the parts of a long one go. */
  shelf: Shelf | undefined;
}

/** Bytes of a transfer on their way to a Blob; they outlive an attempt that breaks off. */
export class Content {
  /** Bytes of the transfer. */
  received = 0;
  /** Whether it is compressed; undefined until that is known. */
  gzip: boolean | undefined;
  /** Whether it is put together of more than one transfer. */
  resumed = false;
  /** What the server has said of its version. */
  version: string | undefined;
  /** Bytes of the content, decompressed. */
  length = 0;
  readonly #expected: Expected;
  #head: Uint8Array<ArrayBuffer>[] = [];
  /** A content that is not too long, in one piece. */
  #piece: Uint8Array<ArrayBuffer> | undefined;
  /** Any other. */
  #parts: Parts | undefined;
  #inflating: Inflating | undefined;

  constructor(expected: Expected) {
    this.#expected = expected;
  }

  async add(chunk: Uint8Array<ArrayBuffer>): Promise<void> {
    this.received += chunk.length;
    if (this.gzip !== undefined) {
      await this.#pass(chunk);
      return;
    }
    this.#head.push(chunk);
    if (this.received >= HEAD) await this.look();
  }

  /** Goes on from what a download that broke off has left, if it has. */
  async restore(): Promise<void> {
    const { shelf } = this.#expected;
    if (shelf?.key === undefined || this.#room !== undefined) return;
    const parts = await this.#inParts();
    await parts.restore();
    if (parts.length === 0) return;
    this.length = parts.length;
    this.received = parts.length;
    this.gzip = false;
    this.resumed = true;
    this.version = shelf.version;
  }

  /** Its SHA-256 where that was taken as it came; to be asked for once, after `finish()`. */
  hash(): string | undefined {
    return this.#parts?.hash();
  }

  /** The content; to be called once all has come. */
  async finish(): Promise<FileData> {
    await this.look();
    await this.#inflating?.end();
    // As a text of some letters, which has no four to be looked at.
    if (this.#expected.isGguf && this.length < 4) throw new Damaged('it is no GGUF file: it is too short');
    return this.#parts === undefined
      ? (this.#piece ?? new Uint8Array(0)).subarray(0, this.length)
      : this.#parts.whole();
  }

  /** Forgets everything. */
  clear(): void {
    this.#inflating?.stop();
    this.#inflating = undefined;
    this.#piece = undefined;
    this.#parts = undefined;
    if (this.#expected.shelf !== undefined) this.#expected.shelf.count = 0;
    this.length = 0;
    this.#head = [];
    this.received = 0;
    this.gzip = undefined;
    this.resumed = false;
    this.version = undefined;
  }

  /** Looks at the first bytes, however few have come, and lets them through. */
  async look(): Promise<void> {
    if (this.gzip !== undefined) return;
    const head = new Uint8Array(await new Blob(this.#head).arrayBuffer());
    this.#head = [];
    const begin = new TextDecoder().decode(head.subarray(0, 64));
    if (/^\s*<(!doctype|html)/i.test(begin)) throw new WebPage();
    if (begin.startsWith('version https:')) {
      throw new Damaged(
        'it is the pointer of a file in Git LFS, not the file: run git lfs pull where it is served',
      );
    }
    this.gzip = isGzip(head);
    if (this.gzip) {
      this.#inflating = new Inflating((chunk) => this.#gather(chunk));
    }
    await this.#pass(head);
  }

  async #pass(chunk: Uint8Array<ArrayBuffer>): Promise<void> {
    if (this.#inflating === undefined) await this.#gather(chunk);
    else await this.#inflating.write(chunk);
  }

  async #gather(chunk: Uint8Array<ArrayBuffer>): Promise<void> {
    const { bytes, isGguf: mustBeGguf } = this.#expected;
    const start = this.length;
    if (mustBeGguf && start < 4) await checkMagic(chunk, start);
    this.length += chunk.length;
    if (bytes !== undefined && this.length > bytes)
      throw new Damaged(`longer than the ${bytes} bytes of the index`);
    const room = this.#parts === undefined ? this.#room : undefined;
    if (room !== undefined && this.length <= room) {
      this.#piece ??= new Uint8Array(room);
      this.#piece.set(chunk, start);
      return;
    }
    const parts = await this.#inParts();
    if (this.#piece !== undefined) await parts.add(this.#piece.subarray(0, start));
    this.#piece = undefined;
    await parts.add(chunk);
  }

  /** Bytes of the piece that it is to be; undefined where it may be too long for one. */
  get #room(): number | undefined {
    const { bytes, about, atOnce } = this.#expected;
    const size = bytes ?? about;
    return size === undefined || size > atOnce ? undefined : size;
  }

  async #inParts(): Promise<Parts> {
    if (this.#parts !== undefined) return this.#parts;
    const parts = await part('parts.js', import('./parts.js'));
    // Where a later download would go on is told by the bytes of the transfer: of a gzip file they are others.
    const shelf = this.gzip === true ? undefined : this.#expected.shelf;
    return (this.#parts = new parts.Parts(shelf, this.#expected.hashed));
  }
}

/** Stops at the first bytes what is no GGUF file, rather than at the last of some hundred million. */
async function checkMagic(chunk: Uint8Array, before: number): Promise<void> {
  const { faultOfMagic } = await part('gguf-magic.js', import('./gguf-magic.js'));
  const fault = faultOfMagic(chunk, before);
  if (fault !== undefined) throw new Damaged(fault);
}

/** A decompressor that is written to and hands on what it makes of it. */
class Inflating {
  readonly #writer: WritableStreamDefaultWriter<BufferSource>;
  readonly #drained: Promise<void>;

  constructor(take: (chunk: Uint8Array<ArrayBuffer>) => Promise<void>) {
    const { readable, writable } = new DecompressionStream('gzip');
    this.#writer = writable.getWriter();
    this.#drained = drain(readable, take);
    // Both are looked at when the next chunk is written.
    this.#drained.catch(() => undefined);
    this.#writer.closed.catch(() => undefined);
  }

  async write(chunk: Uint8Array<ArrayBuffer>): Promise<void> {
    // A fault of the taker cancels the stream; writing to it would wait for ever.
    await damagedBy(Promise.race([this.#writer.write(chunk), this.#drained]));
  }

  async end(): Promise<void> {
    await damagedBy(Promise.all([this.#writer.close(), this.#drained]));
  }

  stop(): void {
    this.#writer.abort().catch(() => undefined);
  }
}

async function drain(
  readable: ReadableStream<Uint8Array<ArrayBuffer>>,
  take: (chunk: Uint8Array<ArrayBuffer>) => Promise<void>,
): Promise<void> {
  const reader = readable.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    try {
      await take(value);
    } catch (thrown) {
      await reader.cancel().catch(() => undefined);
      throw thrown;
    }
  }
}

/** Decompressors report what is wrong with the data as TypeErrors, in words of their own. */
async function damagedBy(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (cause) {
    if (cause instanceof Damaged) throw cause;
    throw new Damaged('its compressed data is damaged', { cause });
  }
}
