// Holds the package's types and the contract (`api.d.ts`) assignable both ways, member by member.

import type * as contract from './api.js';
import type * as built from '../../dist/index.js';

type Both<A, B> = [A] extends [B] ? ([B] extends [A] ? true : { contractLacks: B }) : { packageLacks: A };

/** For each name of the contract's values: whether both sides fit. */
type Values = {
  [Name in keyof typeof contract]: Name extends keyof typeof built
    ? Both<(typeof contract)[Name], (typeof built)[Name]>
    : 'missing in the package';
};

/** Names the package has and the contract has not, but for what was added on purpose. */
type Extra = Exclude<keyof typeof built, keyof typeof contract | 'LiveTranslation'>;

type AllTrue<T extends Record<string, true>> = T;

/** Instances of classes, and the types without values. */
type Types = AllTrue<{
  ModelSource: Both<contract.ModelSource, built.ModelSource>;
  Device: Both<contract.Device, built.Device>;
  Precision: Both<contract.Precision, built.Precision>;
  Availability: Both<contract.Availability, built.Availability>;
  DownloadProgressEvent: Both<contract.DownloadProgressEvent, built.DownloadProgressEvent>;
  CreateMonitor: Both<contract.CreateMonitor, built.CreateMonitor>;
  ModelOptions: Both<contract.ModelOptions, built.ModelOptions>;
  Configuration: Both<contract.Configuration, built.Configuration>;
  LoadedInfo: Both<contract.LoadedInfo, built.LoadedInfo>;
  DecodingOptions: Both<contract.DecodingOptions, built.DecodingOptions>;
  TranslateOptions: Both<contract.TranslateOptions, built.TranslateOptions>;
  TranslatorCreateCoreOptions: Both<contract.TranslatorCreateCoreOptions, built.TranslatorCreateCoreOptions>;
  TranslatorCreateOptions: Both<contract.TranslatorCreateOptions, built.TranslatorCreateOptions>;
  TranslateCallOptions: Both<contract.TranslateCallOptions, built.TranslateCallOptions>;
  Translator: Both<contract.Translator, built.Translator>;
  Translation: Both<contract.Translation, built.Translation>;
  TranslatedSentence: Both<contract.TranslatedSentence, built.TranslatedSentence>;
  Token: Both<contract.Token, built.Token>;
  AttentionRequest: Both<contract.AttentionRequest, built.AttentionRequest>;
  AttentionWeights: Both<contract.AttentionWeights, built.AttentionWeights>;
  Attention: Both<contract.Attention, built.Attention>;
  TextPart: Both<contract.TextPart, built.TextPart>;
  ChatMessage: Both<contract.ChatMessage, built.ChatMessage>;
  Prompt: Both<contract.Prompt, built.Prompt>;
  SamplingOptions: Both<contract.SamplingOptions, built.SamplingOptions>;
  PromptOptions: Both<contract.PromptOptions, built.PromptOptions>;
  GenerateOptions: Both<contract.GenerateOptions, built.GenerateOptions>;
  LanguageModelCreateOptions: Both<contract.LanguageModelCreateOptions, built.LanguageModelCreateOptions>;
  Completion: Both<contract.Completion, built.Completion>;
  LanguageModel: Both<contract.LanguageModel, built.LanguageModel>;
  EmbedOptions: Both<contract.EmbedOptions, built.EmbedOptions>;
  Embedding: Both<contract.Embedding, built.Embedding>;
  Embedder: Both<contract.Embedder, built.Embedder>;
  EncoderCallOptions: Both<contract.EncoderCallOptions, built.EncoderCallOptions>;
  Classification: Both<contract.Classification, built.Classification>;
  TaggedTokens: Both<contract.TaggedTokens, built.TaggedTokens>;
  MaskFill: Both<contract.MaskFill, built.MaskFill>;
  Transliteration: Both<contract.Transliteration, built.Transliteration>;
  PageTranslationOptions: Both<contract.PageTranslationOptions, built.PageTranslationOptions>;
  PageTranslation: Both<contract.PageTranslation, built.PageTranslation>;
  LanguageDetector: Both<contract.LanguageDetector, built.LanguageDetector>;
  ModelInfo: Both<contract.ModelInfo, built.ModelInfo>;
  MemoryUsage: Both<contract.MemoryUsage, built.MemoryUsage>;
  ErrorCode: Both<contract.ErrorCode, built.ErrorCode>;
  MultiheadError: Both<contract.MultiheadError, built.MultiheadError>;
}>;

export type Held = [AllTrue<Values>, Both<Extra, never>, Types];
export const held: [Both<Extra, never>] = [true];
