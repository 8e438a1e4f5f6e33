// Models to look into: each takes a text, and gives what it made of it with all its attention weights.

import { configure, Embedder, LanguageModel, Translator } from '../../../pkg/dist/index.js';
import { chosenDevice } from '../../device.js';
import { DATES, REVERSE_ADDITIVE, REVERSE_TRANSFORMER, sourceOf } from '../small-models.js';
import { moods, things } from './labels.js';
import { letters } from './letters.js';

configure({ modelBase: new URL('models/', document.baseURI) });

/** @typedef {import('../../../pkg/dist/index.js').Attention} Attention */
/** @typedef {import('../../../pkg/dist/index.js').LoadedInfo} LoadedInfo */
/** @typedef {import('../../../pkg/dist/index.js').ModelOptions} ModelOptions */
/** @typedef {keyof Attention} Kind */
/**
 * @typedef {object} Seen
 * @property {string} said What the model made of the text, in words.
 * @property {Attention} attention
 */
/**
 * A model that is loaded.
 * @typedef {object} Model
 * @property {LoadedInfo} info Where it runs.
 * @property {(text: string, signal: AbortSignal) => Promise<Seen>} look
 * @property {() => unknown} free
 */
/**
 * @typedef {object} Task
 * @property {string} id @property {string} name @property {string} model Its id in the index of models, or its folder's.
 * @property {string} example @property {string} note What it is, for a learner.
 * @property {Partial<Record<Kind, string>>} positions How each side is told them.
 * @property {boolean} [guided] Whether the first head of the last cross-attention was trained on alignments.
 * @property {(options: ModelOptions) => Promise<Model>} load
 */

/** Tokens that a language model writes on. */
const NEW_TOKENS = 8;

const ADDED = 'sinusoids, added to the vectors';
const IN_ORDER = 'none: it reads one after the other';

/** @type {readonly Task[]} */
export const TASKS = [
  letters(
    {
      ...DATES,
      model: DATES.id,
      note: 'Two layers and four heads of each kind, trained for this lesson on dates and nothing else. Nobody labelled which letter belongs to which: in the last cross-attention, see the digits of month, day and year cross to where they are said.',
      positions: { encoder: ADDED, decoder: ADDED, cross: ADDED },
    },
    sourceOf(DATES),
  ),
  letters(
    {
      ...REVERSE_ADDITIVE,
      model: REVERSE_ADDITIVE.id,
      note: 'Two recurrent networks with additive attention between them, trained for this lesson on strings of up to 12 letters. Nobody labelled the diagonal that you see: it is how the task is done.',
      positions: { cross: IN_ORDER },
    },
    sourceOf(REVERSE_ADDITIVE),
  ),
  letters(
    {
      ...REVERSE_TRANSFORMER,
      model: REVERSE_TRANSFORMER.id,
      note: 'The same task without recurrence: two layers of four heads of each kind. Below, each of them can be switched off.',
      positions: { encoder: ADDED, decoder: ADDED, cross: ADDED },
    },
    sourceOf(REVERSE_TRANSFORMER),
  ),
  letters(
    {
      id: 'khmer',
      name: 'Write Khmer: from Latin letters',
      model: 'en-km-translit',
      example: 'suasdei',
      note: 'A recurrent network with additive attention. It was trained on texts filled up to 25 letters, and sees the filling (∅) as well.',
      positions: { cross: IN_ORDER },
    },
    'en-km-translit',
    '∅',
  ),
  moods,
  things,
  {
    id: 'translate',
    name: 'Translate: English to Portuguese',
    model: 'en-pt',
    example: 'The old red door was closed yesterday.',
    guided: true,
    note: 'Firefox’s model: six encoder layers, two decoder layers with a recurrent cell in the place of their self-attention. One head, the first of the last cross-attention, was trained on word alignments that another program had made; all others were left to themselves.',
    positions: { encoder: ADDED, cross: ADDED },
    async load(options) {
      const translator = await Translator.create({ ...options, sourceLanguage: 'en', targetLanguage: 'pt' });
      return {
        info: translator,
        async look(text, signal) {
          const { sentences } = await translator.translateDetailed(text, { signal, attention: true });
          const first = sentences.find(({ attention }) => attention !== undefined);
          if (first?.attention === undefined) throw new Error('There is nothing in this text to translate');
          const said = first.targetTokens.map((token) => token.text).join('');
          const more = sentences.length > 1 ? ' (the first sentence; one is shown at a time)' : '';
          return { said: `${said.trim()}${more}`, attention: first.attention };
        },
        free: () => translator.destroy(),
      };
    },
  },
  {
    id: 'embed',
    name: 'Read for search: English',
    model: 'all-minilm-l6-v2',
    example: 'The bank of the river was muddy.',
    note: 'all-MiniLM-L6-v2: an encoder of six layers with twelve heads each. Everything sees everything; nobody labelled what a head looks at.',
    positions: { encoder: 'a learned table, added to the vectors' },
    async load(options) {
      const gpu = options.device === 'webgpu';
      const embedder = await Embedder.create({ ...options, precision: gpu ? 'auto' : 'int8' });
      return {
        info: embedder,
        async look(text, signal) {
          const [one] = await embedder.embedDetailed([text], { signal, attention: true });
          if (one?.attention === undefined) throw new Error('There is nothing to read in this text');
          return { said: `a vector of ${one.vector.length} numbers`, attention: one.attention };
        },
        free: () => embedder.destroy(),
      };
    },
  },
  {
    id: 'write',
    name: 'Write on: English',
    model: 'smollm2-135m-instruct',
    example: 'The capital of France is',
    note: 'SmolLM2-135M: a decoder of thirty layers with nine heads each, causal. Many of its heads look at the very first token when there is nothing else to look at.',
    positions: { decoder: 'rotary: queries and keys are turned' },
    async load(options) {
      const model = await LanguageModel.create(options);
      return {
        info: model,
        async look(text, signal) {
          const call = { signal, attention: true, maxNewTokens: NEW_TOKENS, temperature: 0 };
          const completion = await model.complete(text, call);
          if (completion.attention === undefined) throw new Error('The model has read nothing');
          return { said: `…${completion.text}`, attention: completion.attention };
        },
        free: () => model.destroy(),
      };
    },
  },
];

/** @typedef {{ progress: (loaded: number) => void }} Told Who waits for a model. */
/** The task's model that is loaded. @type {{ task: Task, model: Promise<Model>, told: Told } | undefined} */
let current;

/**
 * The model of a task; the one before it is given up.
 * @param {Task} task @param {(loaded: number) => void} progress From 0 to 1.
 */
export function modelOf(task, progress) {
  if (current?.task === task) {
    // Whoever waits now is told, instead of whoever asked first.
    current.told.progress = progress;
    return current.model;
  }
  giveUp();
  /** @type {Told} */
  const told = { progress };
  const model = task.load({
    device: chosenDevice(),
    monitor(monitor) {
      monitor.addEventListener('downloadprogress', ({ loaded }) => {
        told.progress(loaded);
      });
    },
  });
  const own = { task, model, told };
  current = own;
  model.catch(() => {
    // Another try loads anew.
    if (current === own) current = undefined;
  });
  return model;
}

/** Frees the model, now or once it has loaded. */
export function giveUp() {
  const given = current;
  given?.model.then(({ free }) => free()).catch(() => undefined);
  current = undefined;
}
