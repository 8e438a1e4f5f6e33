// What is fetched when a language model is first asked for: opening conversations with it.

import { abortable, either } from './abort.js';
import { Conversation } from './conversation.js';
import { invalid, MultiheadError, notSupported, shown } from './errors.js';
import { find } from './find.js';
import { ROLES } from './kinds.js';
import { isTag } from './languages.js';
import { availabilityOf } from './loader.js';
import { checkModelOptions, memberOf, MODEL_OPTIONS, read, reading } from './options.js';
import { monitored } from './progress.js';
import { turnsBefore, turnsOf } from './prompt.js';
import { callOf, DEFAULTS, LIMITS, SAMPLING_OPTIONS, samplingOf } from './sampling.js';
import { SharedModel } from './shared-model.js';
import type { Availability, GenerateOptions, LanguageModelCreateOptions, Prompt } from './types.js';

/** The model that is meant where none is named. */
const DEFAULT_MODEL = 'smollm2-135m-instruct';

const CREATE = [
  ...MODEL_OPTIONS,
  ...SAMPLING_OPTIONS,
  'initialPrompts',
  'contextWindow',
  'kvCache',
  'expectedInputs',
  'expectedOutputs',
];
const GENERATE = [...MODEL_OPTIONS, ...SAMPLING_OPTIONS, 'maxNewTokens', 'stop'];

/** How tokens are drawn where nothing is said, and the largest values that count. */
export function params(): {
  defaultTopK: number;
  maxTopK: number;
  defaultTemperature: number;
  maxTemperature: number;
} {
  return {
    defaultTopK: DEFAULTS.topK,
    maxTopK: LIMITS.topK,
    defaultTemperature: DEFAULTS.temperature,
    maxTemperature: LIMITS.temperature,
  };
}

/** Whether the model is there, and whether its files are here already. */
export async function availability(options: LanguageModelCreateOptions): Promise<Availability> {
  const { model = DEFAULT_MODEL } = read(options, CREATE, 'LanguageModel.availability()');
  try {
    const found = await find(model, 'text');
    ROLES.text(found.id, found.files);
    return await availabilityOf([found]);
  } catch (thrown) {
    const code = thrown instanceof MultiheadError ? thrown.code : undefined;
    if (code === 'model-not-found' || code === 'model-unsupported') return 'unavailable';
    throw thrown;
  }
}

/** A conversation with a loaded model, with the initial prompts read. */
export async function open(options: LanguageModelCreateOptions): Promise<Conversation> {
  return opened(read(options, CREATE, 'LanguageModel.create()'));
}

/** Answers a prompt, in pieces as well if `piece` takes them; `cancelled` stops it like the caller's own signal. */
export async function answered(
  prompt: Prompt,
  options: GenerateOptions,
  method: string,
  piece?: (text: string) => void,
  cancelled = new AbortController().signal,
): Promise<string> {
  const { maxNewTokens, stop, ...create } = read(options, GENERATE, method);
  const turns = turnsOf(prompt, 'prompt');
  const call = callOf({
    ...(maxNewTokens === undefined ? {} : { maxNewTokens }),
    ...(stop === undefined ? {} : { stop }),
  });
  checkModelOptions(create);
  return either(create.signal, cancelled, async (signal) => {
    const conversation = await opened({ ...create, signal });
    try {
      conversation.keep();
      return await conversation.answer(turns, call, signal, piece);
    } finally {
      conversation.destroy();
    }
  });
}

/** `options` are the caller's, read already. */
async function opened(options: LanguageModelCreateOptions): Promise<Conversation> {
  const { model = DEFAULT_MODEL, signal, monitor, contextWindow, kvCache, initialPrompts } = options;
  const computing = { ...checkModelOptions(options), ...(kvCache === 'int8' ? { kvCache } : {}) };
  const sampling = { ...DEFAULTS, ...samplingOf(options) };
  if (kvCache !== undefined && kvCache !== 'float' && kvCache !== 'int8') {
    throw invalid('kvCache', `'float' or 'int8' expected, got ${shown(kvCache)}`);
  }
  if (kvCache === 'int8' && computing.device === 'webgpu') {
    throw invalid('kvCache', "a GPU keeps float32; leave it out, or say device: 'cpu'");
  }
  if (contextWindow !== undefined && (!Number.isSafeInteger(contextWindow) || contextWindow < 1)) {
    throw invalid('contextWindow', `a whole number above 0 expected, got ${shown(contextWindow)}`);
  }
  checkExpected('expectedInputs', options.expectedInputs);
  checkExpected('expectedOutputs', options.expectedOutputs);
  const turns = initialPrompts === undefined ? [] : turnsOfInitial(initialPrompts);
  const report = monitored(monitor);
  const found = await abortable(find(model, 'text'), signal);
  const shared = SharedModel.use('text', found, computing);
  let conversation: Conversation | undefined;
  try {
    const running = await shared.ready(signal, report);
    const most = running.text?.contextLength ?? 0;
    if (contextWindow !== undefined && contextWindow > most) {
      throw invalid('contextWindow', `is ${contextWindow}, and the model has at most ${most} tokens`);
    }
    const window = contextWindow ?? most;
    const beginning = { sampling, window, turns, initial: turns.length, usage: 0 };
    conversation = new Conversation(shared, running, beginning);
    await conversation.begin(signal);
    return conversation;
  } catch (thrown) {
    if (conversation === undefined) shared.release();
    else conversation.destroy();
    throw thrown;
  }
}

function turnsOfInitial(messages: unknown): ReturnType<typeof turnsBefore> {
  const isList = reading('initialPrompts', () => Array.isArray(messages));
  if (!isList) throw invalid('initialPrompts', `a list of messages expected, got ${shown(messages)}`);
  const list = messages as Prompt & object;
  return list.length === 0 ? [] : turnsBefore(list, 'initialPrompts');
}

/** Text in any language is taken; of the languages only the shape is looked at. */
function checkExpected(name: 'expectedInputs' | 'expectedOutputs', expected: unknown): void {
  if (expected === undefined) return;
  const list = reading(name, () => (Array.isArray(expected) ? Array.from(expected as unknown[]) : undefined));
  if (list === undefined) throw invalid(name, `a list of { type: 'text', languages } expected`);
  for (const one of list) {
    const { type, languages } = reading(name, () => {
      const [kind, tags] = ['type', 'languages'].map((member) => memberOf(Object(one) as object, member));
      return { type: kind, languages: Array.isArray(tags) ? Array.from(tags as unknown[]) : tags };
    });
    if (type === 'image' || type === 'audio') throw notSupported(`${name} of type '${type}': text only`);
    if (type !== 'text') throw invalid(name, `type is 'text', got ${shown(type)}`);
    const isList =
      Array.isArray(languages) && languages.every((tag) => typeof tag === 'string' && isTag(tag));
    if (languages !== undefined && !isList) throw invalid(name, 'languages are a list of language tags');
  }
}
