// The public surface of the package, without anything that is for GPUs: everything computes on the CPU.

export { configure } from './configure.js';
export { MultiheadError, type ErrorCode } from './errors.js';
export { classify, embed, fillMask, tagTokens, transliterate } from './embed.js';
export { Embedder } from './embedder.js';
export { generate, generateStreaming } from './generate.js';
export { LanguageModel } from './language-model.js';
export {
  LiveTranslation,
  type LiveProgress,
  type LiveTranslationOptions,
  type LiveTranslationResult,
} from './live.js';
export { memoryUsage, models, unload } from './models.js';
export { translate, warmup } from './translate.js';
export { Translator } from './translator.js';
export type * from './types.js';
export { installPolyfill, LanguageDetector, translateElement } from './unbuilt.js';
