// The small models that came with the lesson: what they are called, what to type first, which files they have.

/** @typedef {{ id: string, name: string, example: string, files: readonly string[] }} SmallModel Its id is its folder's name. */

/** Of a model over letters. */
const LETTERS = ['config.json', 'model.safetensors'];
/** Of an encoder, as transformers writes it. */
const ENCODER = [...LETTERS, 'tokenizer.json', 'tokenizer_config.json', 'special_tokens_map.json'];

export const DATES = {
  id: 'dates',
  name: 'Write dates: a small Transformer',
  example: 'march 5, 1987',
  files: LETTERS,
};
export const REVERSE_ADDITIVE = {
  id: 'reverse-additive',
  name: 'Turn letters round: the attention of 2014',
  example: 'attention',
  files: LETTERS,
};
export const REVERSE_TRANSFORMER = {
  id: 'reverse-transformer',
  name: 'Turn letters round: a small Transformer',
  example: 'attention',
  files: LETTERS,
};
export const MOODS = {
  id: 'moods',
  name: 'For or against: a small classifier',
  example: 'The film was not very good.',
  files: ENCODER,
};
export const THINGS = {
  id: 'things',
  name: 'Find colours, animals, fruit, numbers: a small tagger',
  example: 'She saw an orange cat and ate an orange.',
  files: ENCODER,
};

/** @param {string} path In the folder of models. */
export const addressOf = (path) => new URL(`models/${path}`, import.meta.url);

/** The model, as the package takes one. @param {SmallModel} model */
export const sourceOf = ({ id, files }) => ({
  files: Object.fromEntries(files.map((name) => [name, addressOf(`${id}/${name}`)])),
});
