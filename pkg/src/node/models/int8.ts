// safetensors files with their matrices quantised: a quarter of the download. A matrix `X.weight` of a linear layer or the
// table of words, [rows, columns] of floats, becomes int8 with a factor for each row beside it: `X.weight_scale`, F32
// [rows, 1]; a value is its integer times its row's factor. Everything else stays as it is.

import { isRecord } from '../../catalogue.js';
import { MultiheadError } from '../../errors.js';

/** Largest magnitude of a quantised value. */
const MOST = 127;

/** Longest head of a file that is believed, as the format's own reader has it. */
const LONGEST_HEAD = 100_000_000;

/** Bytes of a float of each type that is quantised. */
const SIZES: Readonly<Record<string, number>> = { F32: 4, F16: 2, BF16: 2 };
/** Bytes of an element of other types of more than one. */
const OTHER_SIZES: Readonly<Record<string, number>> = {
  F64: 8,
  I64: 8,
  U64: 8,
  I32: 4,
  U32: 4,
  I16: 2,
  U16: 2,
};

interface Tensor {
  name: string;
  dtype: string;
  shape: number[];
  /** Bytes of the data of all tensors. */
  from: number;
  to: number;
}

/** What is written of a tensor of the file. */
interface Piece {
  name: string;
  dtype: string;
  shape: readonly number[];
  bytes: number;
  /** Bytes of an element: the larger come first, so that each lies where it can be read from. */
  align: number;
  write: (place: Uint8Array<ArrayBuffer>) => void;
}

/** A file quantised: `added` are the names of the tensors that it has more. */
export interface Quantised {
  content: Uint8Array<ArrayBuffer>;
  added: string[];
}

/** The file with its matrices quantised, one after the other. */
export function quantised(file: string, content: Uint8Array<ArrayBuffer>): Quantised {
  const { tensors, metadata, data } = read(file, content);
  const names = new Set(tensors.map(({ name }) => name));
  const added: string[] = [];
  const pieces = tensors.flatMap((tensor): Piece[] => {
    const { name, dtype, shape, from, to } = tensor;
    const source = data.subarray(from, to);
    const [rows = 0, columns = 0] = shape;
    if (!isMatrix(tensor) || names.has(scaleOf(name))) {
      const write = (place: Uint8Array): void => {
        place.set(source);
      };
      return [
        { name, dtype, shape, bytes: to - from, align: SIZES[dtype] ?? OTHER_SIZES[dtype] ?? 1, write },
      ];
    }
    added.push(scaleOf(name));
    const scales = new Float32Array(rows);
    const row = rowsOf(dtype, source, columns);
    const write = (place: Uint8Array<ArrayBuffer>): void => {
      for (let index = 0; index < rows; index++) {
        const integers = new Int8Array(place.buffer, place.byteOffset + index * columns, columns);
        scales[index] = quantise(file, name, row(index), integers);
      }
    };
    return [
      { name, dtype: 'I8', shape, bytes: rows * columns, align: 1, write },
      {
        name: scaleOf(name),
        dtype: 'F32',
        shape: [rows, 1],
        bytes: rows * 4,
        align: 4,
        write: (place) => {
          const view = new DataView(place.buffer, place.byteOffset);
          for (const [index, scale] of scales.entries()) view.setFloat32(index * 4, scale, true);
        },
      },
    ];
  });
  return { content: written(pieces, metadata), added };
}

function scaleOf(name: string): string {
  return `${name}_scale`;
}

/** Small tables of what is added: to the words' rows, or to scores. */
const ADDED = /position_embeddings|token_type_embeddings|attention_bias/;

/** Whether it is a matrix of floats by which something is multiplied, or the table that words' rows are taken from. */
function isMatrix({ name, dtype, shape }: Tensor): boolean {
  return shape.length === 2 && name.endsWith('.weight') && dtype in SIZES && !ADDED.test(name);
}

/** Quantises a row; its factor. */
function quantise(file: string, tensor: string, row: Float32Array, integers: Int8Array): number {
  let largest = 0;
  for (const value of row) {
    if (!Number.isFinite(value))
      throw corrupt(file, `the tensor ${tensor} has a value that is no number`, tensor);
    largest = Math.max(largest, Math.abs(value));
  }
  const scale = Math.fround(largest / MOST);
  // A row of nothing, or of so little that the scale has no inverse in float32: readers divide by that.
  if (!Number.isFinite(Math.fround(1 / scale))) return 1;
  for (const [index, value] of row.entries()) {
    integers[index] = Math.max(-MOST, Math.min(MOST, Math.round(value / scale)));
  }
  return scale;
}

/** Gives a row of a matrix as floats, until the next is asked for. */
function rowsOf(dtype: string, data: Uint8Array, columns: number): (index: number) => Float32Array {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const row = new Float32Array(columns);
  const size = SIZES[dtype] ?? 4;
  const value = {
    F32: (at: number) => view.getFloat32(at, true),
    F16: (at: number) => fromHalf(view.getUint16(at, true)),
    BF16: (at: number) => fromBits(view.getUint16(at, true) << 16),
  }[dtype];
  if (value === undefined) throw new TypeError(`${dtype} is not read`);
  return (index) => {
    for (let column = 0; column < columns; column++) row[column] = value((index * columns + column) * size);
    return row;
  };
}

const BITS = new DataView(new ArrayBuffer(4));

function fromBits(bits: number): number {
  BITS.setInt32(0, bits);
  return BITS.getFloat32(0);
}

/** A number of 16 bits (IEEE 754: 1 of sign, 5 of exponent, 10 of fraction). */
function fromHalf(bits: number): number {
  const sign = bits >= 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (fraction + 1024) * 2 ** (exponent - 25));
}

/** Puts a file together. */
function written(pieces: readonly Piece[], metadata: unknown): Uint8Array<ArrayBuffer> {
  const sorted = pieces.toSorted((a, b) => b.align - a.align);
  const head = Object.create(null) as Record<string, unknown>;
  if (metadata !== undefined) head['__metadata__'] = metadata;
  const places = new Map<Piece, number>();
  let length = 0;
  for (const piece of sorted) {
    places.set(piece, length);
    const { name, dtype, shape, bytes } = piece;
    head[name] = { dtype, shape, data_offsets: [length, length + bytes] };
    length += bytes;
  }
  let text = JSON.stringify(head);
  // Data begins at a multiple of eight.
  const bare = new TextEncoder().encode(text).length;
  text += ' '.repeat((8 - (bare % 8)) % 8);
  const encoded = new TextEncoder().encode(text);
  const content = new Uint8Array(8 + encoded.length + length);
  new DataView(content.buffer).setBigUint64(0, BigInt(encoded.length), true);
  content.set(encoded, 8);
  const data = content.subarray(8 + encoded.length);
  // In the file's order: a matrix tells the factors that come after it.
  for (const piece of pieces) {
    const place = places.get(piece) ?? 0;
    piece.write(data.subarray(place, place + piece.bytes));
  }
  return content;
}

/** The tensors of a file and what lies behind its head. */
function read(
  file: string,
  content: Uint8Array<ArrayBuffer>,
): { tensors: Tensor[]; metadata: unknown; data: Uint8Array<ArrayBuffer> } {
  const wrong = (what: string): MultiheadError => corrupt(file, what);
  if (content.length < 8) throw wrong('it is too short');
  const length = new DataView(content.buffer, content.byteOffset).getBigUint64(0, true);
  if (length > LONGEST_HEAD || Number(length) > content.length - 8) {
    throw wrong(`its head is to have ${length} bytes, and the file has ${content.length}`);
  }
  const end = 8 + Number(length);
  let head: unknown;
  try {
    head = JSON.parse(new TextDecoder().decode(content.subarray(8, end)));
  } catch {
    // What is no JSON is no head either.
  }
  if (!isRecord(head)) throw wrong('its head is no object of JSON');
  const { __metadata__: metadata, ...entries } = head;
  const data = content.subarray(end);
  const tensors = Object.entries(entries).map(([name, entry]): Tensor => {
    const { dtype, shape, data_offsets: offsets } = isRecord(entry) ? entry : {};
    if (typeof dtype !== 'string' || !isNumbers(shape) || !isNumbers(offsets)) {
      throw corrupt(file, `the tensor ${name} lacks dtype, shape or data_offsets`, name);
    }
    const [from = 0, to = 0] = offsets;
    const size = SIZES[dtype];
    const needed = size === undefined ? to - from : shape.reduce((all, each) => all * each, size);
    if (from > to || to > data.length || to - from !== needed) {
      throw corrupt(
        file,
        `the tensor ${name} has its data at [${from}, ${to}] of ${data.length} bytes`,
        name,
      );
    }
    return { name, dtype, shape, from, to };
  });
  return { tensors: tensors.toSorted((a, b) => a.from - b.from), metadata, data };
}

function isNumbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((each) => Number.isSafeInteger(each) && (each as number) >= 0);
}

function corrupt(file: string, what: string, tensor?: string): MultiheadError {
  return new MultiheadError(`${file} is no safetensors file that can be quantised: ${what}`, {
    code: 'model-corrupt',
    file,
    ...(tensor === undefined ? {} : { tensor }),
  });
}

/** The index of weights in several files, with the tensors that they have more: file by tensor. */
export function indexed(
  file: string,
  content: Uint8Array<ArrayBuffer>,
  added: ReadonlyMap<string, string>,
): Uint8Array<ArrayBuffer> {
  let index: unknown;
  try {
    index = JSON.parse(new TextDecoder().decode(content));
  } catch {
    // As below.
  }
  if (!isRecord(index) || !isRecord(index['weight_map'])) throw corrupt(file, 'it has no "weight_map"');
  const { metadata: _sizes, weight_map: map, ...others } = index;
  const text = JSON.stringify({ ...others, weight_map: { ...map, ...Object.fromEntries(added) } }, null, 2);
  return new TextEncoder().encode(`${text}\n`);
}
