// generate(): one call from a prompt to an answer. The model stays loaded for the next call, until unload().

import { generation, streamed } from './language-model.js';
import type { GenerateOptions, Prompt } from './types.js';

/** Answers a prompt: a text is what a user says, messages are a chat. */
export async function generate(prompt: Prompt, options: GenerateOptions = {}): Promise<string> {
  return (await generation()).answered(prompt, options, 'generate()');
}

/** As generate(), in pieces, which joined are the whole. Cancelling the stream stops the work. */
export function generateStreaming(prompt: Prompt, options: GenerateOptions = {}): ReadableStream<string> {
  return streamed(async (piece, cancelled) =>
    (await generation()).answered(prompt, options, 'generateStreaming()', piece, cancelled),
  );
}
