// SHA-256 of a file. crypto.subtle is there only in secure contexts and wants the whole input at once, so large files and
// plain-http pages take an implementation of ours.

import { AT_ONCE, sizeOf, type FileData } from './content.js';
import { part } from './errors.js';

/** Hexadecimal SHA-256 of a file's content. */
export async function sha256(data: FileData): Promise<string> {
  const isSecure = typeof crypto !== 'undefined' && 'subtle' in crypto;
  if (!isSecure || sizeOf(data) > AT_ONCE)
    return sha256Streaming(data instanceof Blob ? data : new Blob([data]));
  const bytes = data instanceof Blob ? await data.arrayBuffer() : data;
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The same, chunk by chunk and without crypto.subtle. */
export async function sha256Streaming(blob: Blob): Promise<string> {
  const { Sha256 } = await part('sha256-streaming.js', import('./sha256-streaming.js'));
  const state = new Sha256();
  const reader = blob.stream().getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return state.digest();
    state.update(value);
  }
}
