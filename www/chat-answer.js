// One answer: the pieces as they come, and what they took, counted and timed.

/** @typedef {import('../pkg/dist/index.js').LanguageModel} LanguageModel */
/**
 * What an answer took. Tokens of the prompt are those that the message added to the conversation; where turns were left
 * out, it is read anew, and how much of it is not known here.
 * @typedef {object} Figures
 * @property {boolean} stopped
 * @property {boolean} overflowed
 * @property {number | undefined} kept Tokens of the conversation before.
 * @property {number | undefined} promptTokens
 * @property {number} promptMs From the call to the first piece.
 * @property {number} newTokens
 * @property {number} newMs From the first piece to the end.
 */

/**
 * Has the model answer. An answer that is stopped stays part of the conversation as far as it was written.
 * @param {LanguageModel} model @param {string} input
 * @param {import('../pkg/dist/index.js').PromptOptions & { signal: AbortSignal }} options
 * @param {(piece: string) => void} show
 * @returns {Promise<Figures>} Rejects with an AbortError where it was stopped before anything was written.
 */
export async function answer(model, input, options, show) {
  const { signal } = options;
  const kept = model.contextUsage;
  const added = await model.measureContextUsage(input, { signal });
  let overflowed = false;
  const leftOut = () => (overflowed = true);
  model.addEventListener('contextoverflow', leftOut);
  const start = performance.now();
  /** @type {number | undefined} */
  let first;
  let [last, text, stopped] = [start, '', false];
  try {
    const reader = model.promptStreaming(input, options).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      last = performance.now();
      if (done) break;
      first ??= last;
      text += value;
      show(value);
    }
  } catch (thrown) {
    if (!signal.aborted || text === '') throw thrown;
    stopped = true;
  } finally {
    model.removeEventListener('contextoverflow', leftOut);
  }
  const isCounted = !stopped && !overflowed;
  const newTokens = isCounted ? model.contextUsage - kept - added : (await model.tokenize(text)).length;
  if (stopped) {
    await model.append([
      { role: 'user', content: input },
      { role: 'assistant', content: text },
    ]);
  }
  return {
    stopped,
    overflowed,
    kept: overflowed ? undefined : kept,
    promptTokens: overflowed ? undefined : added,
    promptMs: (first ?? last) - start,
    newTokens,
    newMs: last - (first ?? last),
  };
}

/** In words. @param {Figures} figures @param {number | undefined} limit Most tokens of an answer. */
export function inWords({ stopped, overflowed, kept, promptTokens, promptMs, newTokens, newMs }, limit) {
  const prompt =
    promptTokens === undefined
      ? 'Prompt: read again without the oldest turns'
      : `Prompt: ${tokens(promptTokens)}${rate(promptTokens, promptMs)}${kept ? `, ${count(kept)} kept from before` : ''}`;
  // The first token is there when the time begins.
  const written = `Answer: ${tokens(newTokens)}${rate(newTokens - 1, newMs)}`;
  const end = stopped ? 'stopped' : newTokens === limit && !overflowed ? 'ended at its limit' : '';
  return [prompt, written, ...(end === '' ? [] : [end])].join(' · ');
}

/** @param {number} number */
export const count = (number) => number.toLocaleString('en');

/** @param {number} number */
const tokens = (number) => (number === 1 ? '1 token' : `${count(number)} tokens`);

/** @param {number} number @param {number} milliseconds */
function rate(number, milliseconds) {
  if (number < 1 || milliseconds <= 0) return '';
  const second = (number / milliseconds) * 1000;
  return `, ${second < 100 ? second.toFixed(1) : count(Math.round(second))} tokens/s`;
}
