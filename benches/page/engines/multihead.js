// Our side: the npm package as a page uses it.

import { configure, translate, Translator } from '/pkg/dist/index.js';

/** `threads`: 1, or 'auto'. */
export async function load({ from, to, threads, modelBase = '/models/', cache = 'none' }) {
  configure({ modelBase, cache });
  const translator = await Translator.create({
    sourceLanguage: from,
    targetLanguage: to,
    device: 'cpu',
    threads,
  });
  return {
    translate: (text) => translator.translate(text),
    translateList: (texts) => translate(texts, { from, to, device: 'cpu', threads }),
    destroy: () => translator.destroy(),
  };
}
