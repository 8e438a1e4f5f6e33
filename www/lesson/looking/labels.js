// Small encoders with a head for labels, to look into.

import { classify, tagTokens, unload, warmup } from '../../../pkg/dist/index.js';
import { shown } from '../dom.js';
import { MOODS, sourceOf, THINGS } from '../small-models.js';

/** @typedef {import('../../../pkg/dist/index.js').Attention} Attention */
/** @typedef {import('../../../pkg/dist/index.js').EncoderCallOptions} EncoderCallOptions */
/** @typedef {import('./tasks.js').Task} Task */
/** @typedef {{ said: string, attention: Attention | undefined }} Answer */

/**
 * @param {import('../small-models.js').SmallModel} small @param {string} note
 * @param {(text: string, options: EncoderCallOptions) => Promise<Answer>} ask
 * @returns {Task}
 */
function labels(small, note, ask) {
  const model = sourceOf(small);
  return {
    ...small,
    note,
    model: small.id,
    positions: { encoder: 'a learned table, added to the vectors' },
    async load(options) {
      // They are so small that a GPU would only wait.
      const call = { device: /** @type {const} */ ('cpu'), model };
      return {
        info: await warmup({ ...options, ...call }),
        async look(text, signal) {
          const { said, attention } = await ask(text, { ...call, signal, attention: true });
          if (attention === undefined) throw new Error('There is nothing in this text to read');
          return { said, attention };
        },
        free: () => unload(model),
      };
    },
  };
}

/** Whether a text is for or against something. */
export const moods = labels(
  MOODS,
  'An encoder of two layers with two heads each, trained for this lesson on made-up texts: NEGATIVE, NEUTRAL or POSITIVE. Its answer is read off the first token alone, [CLS], to which the layers have to bring everything.',
  async (text, options) => {
    const { labels: found, attention } = await classify(text, options);
    return { said: found.map(({ label, score }) => `${label} ${shown(score, 3)}`).join(', '), attention };
  },
);

/** Words of some kinds in a text. */
export const things = labels(
  THINGS,
  'An encoder of two layers with two heads each, trained for this lesson on made-up texts: each token gets a label of its own. What an orange is, only the words after it tell.',
  async (text, options) => {
    const { entities, attention } = await tagTokens(text, options);
    const said = entities.map(({ label, text: words, score }) => `${words}: ${label} ${shown(score, 3)}`);
    return { said: said.join(', ') || 'nothing that it knows', attention };
  },
);
