// The Bergamot side: the npm package's own translator and worker, on model files of this machine.

import { BatchTranslator, TranslatorBacking } from '/bergamot/translator.js';

/** Hands out one model from this server instead of asking the package's registry. */
class LocalBacking extends TranslatorBacking {
  // Spelt as the package spells it. The base class's constructor calls it, before fields of ours would be set.
  async loadModelRegistery() {
    const { from, to } = this.options.model;
    return [{ from, to }];
  }

  async loadTranslationModel() {
    const [model, shortlist, vocab] = await Promise.all(
      ['model', 'shortlist', 'vocab'].map(async (role) => {
        const { files, held } = this.options.model;
        if (held !== undefined) return held[role].blob.arrayBuffer();
        const response = await fetch(files[role]);
        if (!response.ok) throw new Error(`${response.url}: HTTP status ${response.status}`);
        return response.arrayBuffer();
      }),
    );
    return { model, shortlist, vocabs: [vocab], config: {} };
  }
}

/** The cache of translated sentences is off. `batchSize`: texts that go to a worker together; `workers`: how many. */
export async function load({ from, to, files, held, batchSize, workers = 1 }) {
  const options = { cacheSize: 0, workers, batchSize, pivotLanguage: null, model: { from, to, files, held } };
  const translator = new BatchTranslator(options, new LocalBacking(options));
  const translate = async (text) => {
    const { target } = await translator.translate({ from, to, text, html: false });
    return target.text;
  };
  // Models and workers are loaded by the first calls: as many as there are workers, none of them waiting.
  await Promise.all(Array.from({ length: workers }, (_, call) => translate(`${call}`)));
  return {
    translate,
    // There is no list call: the package itself puts calls of the same moment into batches.
    translateList: (texts) => Promise.all(texts.map(translate)),
    destroy: () => translator.delete(),
  };
}
