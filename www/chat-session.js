// The language model of the chat and its conversation. There is one of each at most.

import { LanguageModel } from '../pkg/dist/index.js';

/** @typedef {import('../pkg/dist/index.js').ModelSource} ModelSource */
/** @typedef {{ source: ModelSource, signal: AbortSignal, progress: (loaded: number) => void }} Loading */

/** Keeps the model in memory from one conversation to the next; it has read nothing. @type {LanguageModel | undefined} */
let holder;
/** @type {LanguageModel | undefined} */
let conversation;

export const loadedModel = () => holder;
export const openConversation = () => conversation;

/** The model, loaded if it is not. @param {Loading} loading */
export async function load({ source, signal, progress }) {
  holder ??= await LanguageModel.create({
    model: source,
    signal,
    monitor(monitor) {
      monitor.addEventListener('downloadprogress', ({ loaded }) => {
        progress(loaded);
      });
    },
  });
  return holder;
}

/**
 * The conversation, begun if there is none.
 * @param {Loading} loading @param {import('../pkg/dist/index.js').ChatMessage[]} initialPrompts
 */
export async function converse(loading, initialPrompts) {
  if (conversation !== undefined) return conversation;
  await load(loading);
  const { source, signal } = loading;
  conversation = await LanguageModel.create({ model: source, signal, initialPrompts });
  return conversation;
}

/** Forgets what was said. */
export function endConversation() {
  conversation?.destroy();
  conversation = undefined;
}

/** Frees the memory. */
export function unload() {
  endConversation();
  holder?.destroy();
  holder = undefined;
}
