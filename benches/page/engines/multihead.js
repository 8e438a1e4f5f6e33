// Our side: the npm package as a page uses it.

import { configure, translate, Translator, unload } from '/pkg/dist/index.js';

/** `held`: the model's files, in hand. `threads`: 1, or 'auto'. `workerUrl`: a worker that lacks something; absent, the package's own. */
export async function load({ from, to, threads, workerUrl, modelBase = '/models/', cache = 'none', held }) {
  configure({ modelBase, cache, ...(workerUrl === undefined ? {} : { workerUrl }) });
  const translator = await Translator.create({
    sourceLanguage: from,
    targetLanguage: to,
    device: 'cpu',
    threads,
    ...(held === undefined
      ? {}
      : { model: { files: Object.fromEntries(Object.values(held).map(({ name, blob }) => [name, blob])) } }),
  });
  return {
    translate: (text) => translator.translate(text),
    translateList: (texts) => translate(texts, { from, to, device: 'cpu', threads }),
    destroy: async () => {
      translator.destroy();
      await unload();
    },
    reason: translator.deviceReason,
  };
}
