// Models over letters, to look into.

import { transliterate, unload, warmup } from '../../../pkg/dist/index.js';

/** @typedef {import('../../../pkg/dist/index.js').Attention} Attention */
/** @typedef {import('../../../pkg/dist/index.js').ModelSource} ModelSource */
/** @typedef {import('../../../pkg/dist/index.js').Token} Token */
/** @typedef {import('./tasks.js').Task} Task */

/** Tokens without a text, by what they are. @param {readonly Token[]} tokens @param {string} name */
const named = (tokens, name) => tokens.map((token) => (token.text === '' ? { ...token, text: name } : token));

/**
 * Symbols that stand for no letter have no text: in a source its end, or what fills it up; in a target its end; and what a
 * decoder reads begins with its start.
 * @param {Attention} attention @param {string} filling
 * @returns {Attention}
 */
function withMarks({ encoder, decoder, cross }, filling) {
  return {
    ...(cross && {
      cross: {
        ...cross,
        queryTokens: named(cross.queryTokens, '⟨end⟩'),
        keyTokens: named(cross.keyTokens, filling),
      },
    }),
    ...(decoder && {
      decoder: {
        ...decoder,
        queryTokens: named(decoder.queryTokens, '⟨end⟩'),
        keyTokens: named(decoder.keyTokens, '⟨start⟩'),
      },
    }),
    ...(encoder && {
      encoder: {
        ...encoder,
        queryTokens: named(encoder.queryTokens, filling),
        keyTokens: named(encoder.keyTokens, filling),
      },
    }),
  };
}

/**
 * A model over letters: its likeliest answer, and what that looked at.
 * @param {Pick<Task, 'id' | 'name' | 'model' | 'example' | 'note' | 'positions'>} about @param {ModelSource} model
 * @param {string} [filling] What its source ends with.
 * @returns {Task}
 */
export function letters(about, model, filling = '⟨end⟩') {
  return {
    ...about,
    async load(options) {
      // They are so small that a GPU would only wait.
      const call = { device: /** @type {const} */ ('cpu'), model };
      return {
        info: await warmup({ ...options, ...call }),
        async look(text, signal) {
          const { candidates } = await transliterate(text, {
            ...call,
            candidates: 1,
            attention: true,
            signal,
          });
          const [best] = candidates;
          if (best?.attention === undefined || best.alignment.queryLen === 0)
            throw new Error('The model knows no letter of this text');
          return { said: best.text, attention: withMarks(best.attention, filling) };
        },
        free: () => unload(model),
      };
    },
  };
}
