// The language model of the chat and its conversation. There is one of each at most.

import { LanguageModel } from '../pkg/dist/index.js';
import { chosenDevice } from './device.js';

/** @typedef {import('../pkg/dist/index.js').ModelSource} ModelSource */
/** @typedef {import('../pkg/dist/index.js').ChatMessage} ChatMessage */
/** @typedef {{ source: ModelSource, signal: AbortSignal, progress: (loaded: number) => void }} Loading */

/** Keeps the model in memory from one conversation to the next; it has read nothing. @type {LanguageModel | undefined} */
let holder;
/** @type {LanguageModel | undefined} */
let conversation;
/** What the conversation has begun with, once it has. @type {ChatMessage[] | undefined} */
let beginning;
/** What was said since, each time with its answer. @type {ChatMessage[][]} */
let said = [];

export const loadedModel = () => holder;
export const openConversation = () => conversation;

/** The model, loaded if it is not. @param {Loading} loading */
export async function load({ source, signal, progress }) {
  holder ??= await LanguageModel.create({
    model: source,
    device: chosenDevice(),
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
 * The conversation, begun if there is none. One whose model was loaded anew is read again.
 * @param {Loading} loading @param {ChatMessage[]} initialPrompts
 */
export async function converse(loading, initialPrompts) {
  if (conversation !== undefined) return conversation;
  await load(loading);
  const { source, signal } = loading;
  beginning ??= initialPrompts;
  const begun = await LanguageModel.create({
    model: source,
    device: chosenDevice(),
    signal,
    initialPrompts: beginning,
  });
  try {
    // One after the other: where the window has no room for all of them, the oldest are left out.
    for (const turns of said) await begun.append(turns, { signal });
  } catch (thrown) {
    begun.destroy();
    throw thrown;
  }
  conversation = begun;
  return conversation;
}

/** Is told what was said and answered. @param {string} question @param {string} answer */
export function remember(question, answer) {
  said.push([
    { role: 'user', content: question },
    { role: 'assistant', content: answer },
  ]);
}

/** Forgets what was said. */
export function endConversation() {
  conversation?.destroy();
  conversation = undefined;
  beginning = undefined;
  said = [];
}

/** Frees the memory. What was said stays: the conversation goes on with the model that is loaded next. */
export function unload() {
  conversation?.destroy();
  conversation = undefined;
  holder?.destroy();
  holder = undefined;
}
