// What has come of a file so far. Gzip is told by its first bytes, not by a header or a name: servers undo
// or add it as they like. It is undone as it comes, so that only the content is gathered.

/** Chunks are gathered into Blobs of this size, so that the script's memory does not hold the file. */
const GATHERED = 4 * 1024 * 1024;

/** Longest file that is held as bytes: a Blob is written to another process and read from it again. */
export const AT_ONCE = 64 * 1024 * 1024;

/** A file's content. */
export type FileData = Blob | Uint8Array<ArrayBuffer>;

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
  readonly #limit: number | undefined;
  readonly #mustBeGguf: boolean;
  #head: Uint8Array<ArrayBuffer>[] = [];
  #parts: Parts;
  #inflating: Inflating | undefined;

  /** `limit`: bytes of the content, where they are known; more is {@link Damaged}. */
  constructor(limit: number | undefined, mustBeGguf = false) {
    this.#limit = limit;
    this.#mustBeGguf = mustBeGguf;
    this.#parts = new Parts(limit);
  }

  /** Bytes of the content, decompressed. */
  get length(): number {
    return this.#parts.length;
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

  /** The content; to be called once all has come. */
  async finish(): Promise<FileData> {
    await this.look();
    await this.#inflating?.end();
    // As a text of some letters, which has no four to be looked at.
    if (this.#mustBeGguf && this.length < MAGIC.length)
      throw new Damaged('it is no GGUF file: it is too short');
    return this.#parts.whole();
  }

  /** Forgets everything. */
  clear(): void {
    this.#inflating?.stop();
    this.#inflating = undefined;
    this.#parts = new Parts(this.#limit);
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
    if (/^\s*<(!doctype|html)/i.test(new TextDecoder().decode(head.subarray(0, 64)))) throw new WebPage();
    this.gzip = isGzip(head);
    if (this.gzip) {
      this.#inflating = new Inflating((chunk) => {
        this.#gather(chunk);
      });
    }
    await this.#pass(head);
  }

  async #pass(chunk: Uint8Array<ArrayBuffer>): Promise<void> {
    if (this.#inflating === undefined) this.#gather(chunk);
    else await this.#inflating.write(chunk);
  }

  #gather(chunk: Uint8Array<ArrayBuffer>): void {
    if (this.#mustBeGguf) checkMagic(chunk, this.#parts.length);
    if (this.#limit !== undefined && this.#parts.length + chunk.length > this.#limit) {
      throw new Damaged(`longer than the ${this.#limit} bytes of the index`);
    }
    this.#parts.add(chunk);
  }
}

const MAGIC = [0x47, 0x47, 0x55, 0x46];

/** Stops at the first bytes what is no GGUF file, rather than at the last of some hundred million. */
function checkMagic(chunk: Uint8Array, before: number): void {
  if (MAGIC.every((byte, place) => place < before || byte === (chunk[place - before] ?? byte))) return;
  const begin = JSON.stringify(new TextDecoder().decode(chunk.subarray(0, 24)));
  throw new Damaged(
    begin.includes('git-lfs') || begin.includes('version https')
      ? 'it is the pointer of a file in Git LFS, not the file: run git lfs pull where it is served'
      : `it is no GGUF file: it begins with ${begin} in place of "GGUF"`,
  );
}

/** A decompressor that is written to and hands on what it makes of it. */
class Inflating {
  readonly #writer: WritableStreamDefaultWriter<BufferSource>;
  readonly #drained: Promise<void>;

  constructor(take: (chunk: Uint8Array<ArrayBuffer>) => void) {
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
  take: (chunk: Uint8Array<ArrayBuffer>) => void,
): Promise<void> {
  const reader = readable.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    try {
      take(value);
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

/** Chunks as they come: in one piece where that is not too long, else moved into Blobs. */
class Parts {
  length = 0;
  readonly #bytes: Uint8Array<ArrayBuffer> | undefined;
  readonly #gathered: Blob[] = [];
  #loose: Uint8Array<ArrayBuffer>[] = [];
  #looseLength = 0;

  /** `limit`: bytes that come at most, where that is known. */
  constructor(limit: number | undefined) {
    if (limit !== undefined && limit <= AT_ONCE) this.#bytes = new Uint8Array(limit);
  }

  add(chunk: Uint8Array<ArrayBuffer>): void {
    if (this.#bytes === undefined) {
      this.#loose.push(chunk);
      this.#looseLength += chunk.length;
    } else {
      this.#bytes.set(chunk, this.length);
    }
    this.length += chunk.length;
    if (this.#looseLength >= GATHERED) this.#gather();
  }

  whole(): FileData {
    if (this.#bytes !== undefined) return this.#bytes.subarray(0, this.length);
    this.#gather();
    return new Blob(this.#gathered);
  }

  #gather(): void {
    this.#gathered.push(new Blob(this.#loose));
    this.#loose = [];
    this.#looseLength = 0;
  }
}

/** Bytes of a file. */
export function sizeOf(data: FileData): number {
  return data instanceof Blob ? data.size : data.length;
}
