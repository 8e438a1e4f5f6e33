// A chat to a prompt, by the template that the model's file has.

import { invalid, MultiheadError, part, reasonOf } from './errors.js';
import type { Fill } from './jinja.js';
import type { PromptPart, TextInfo } from './protocol.js';

/** A message of a chat. */
export interface Turn {
  role: 'system' | 'user' | 'assistant';
  content: string;
  /** Of the last one: the answer goes on from here. */
  prefix: boolean;
}

/** What makes a prompt of a chat; with `answering`, one that the model's answer comes after. */
export type Render = (turns: readonly Turn[], answering: boolean) => PromptPart[];

/** Prepares the template of a model. */
export async function chatOf(info: TextInfo): Promise<Render> {
  const { chatTemplate } = info;
  if (chatTemplate === undefined) {
    throw new MultiheadError(
      'the model has no chat template, so it cannot be talked to. Use LanguageModel.complete(), which takes plain text',
      { code: 'model-unsupported', option: 'model' },
    );
  }
  const { compile, Refused } = await part('jinja.js', import('./jinja.js'));
  let fill: Fill;
  try {
    fill = compile(chatTemplate);
  } catch (cause) {
    throw failed(cause);
  }
  return (turns, answering) => {
    try {
      return rendered(fill, turns, answering, info);
    } catch (cause) {
      if (!(cause instanceof Refused)) throw failed(cause);
      throw invalid('input', `the model's chat template does not take it: ${cause.message}`, cause);
    }
  };
}

function failed(cause: unknown): MultiheadError {
  return new MultiheadError(
    `the chat template of the model cannot be filled in: ${reasonOf(cause)}. complete() does without it`,
    { code: 'model-unsupported', option: 'model', cause },
  );
}

function rendered(fill: Fill, turns: readonly Turn[], answering: boolean, info: TextInfo): PromptPart[] {
  const { chatTemplate = '', bosToken = '', eosToken = '', controlTokens } = info;
  const names = controlTokens.filter(
    (name) => name !== '' && turns.some(({ content }) => content.includes(name)),
  );
  const [end = '', ...marks] = unused(names.length + 1, [
    chatTemplate,
    ...turns.map(({ content }) => content),
  ]);
  // Of two names that begin alike the longer one is meant.
  names.sort((a, b) => b.length - a.length);
  const written = (content: string): string => {
    if (names.length === 0) return content;
    return content.replace(anyOf(names), (name) => marks[names.indexOf(name)] ?? '');
  };
  const last = turns.at(-1);
  const goesOn = answering && last?.role === 'assistant' && last.prefix;
  const prompt = fill({
    messages: turns.map(({ role, content }, place) => {
      const text = written(content);
      return { role, content: goesOn && place === turns.length - 1 ? `${text}${end} ` : text };
    }),
    tools: null,
    documents: null,
    add_generation_prompt: answering && !goesOn,
    bos_token: bosToken,
    eos_token: eosToken,
  });
  if (!goesOn) return parts(prompt, marks, names);
  const cut = prompt.lastIndexOf(end);
  if (cut < 0) throw new Error("it leaves the beginning of the answer ('prefix') out");
  const begun = prompt.slice(0, cut);
  // A template that takes white space off the end of messages would have taken it off this one.
  return parts(prompt.startsWith(`${end} `, cut) ? begun : begun.trimEnd(), marks, names);
}

/**
 * So many characters for private use that none of the texts has. One of them stands for a control token's name in a
 * message, so that no template takes it apart, and what the template itself writes is told from what somebody typed.
 */
function unused(count: number, texts: readonly string[]): string[] {
  const free: string[] = [];
  for (let code = 0xe000; free.length < count; code++) {
    // Past the plane's own there are two more planes of them.
    const character = String.fromCodePoint(code <= 0xf8ff ? code : code - 0xf900 + 0xf0000);
    if (!texts.some((text) => text.includes(character))) free.push(character);
  }
  return free;
}

/** The prompt with the names in the place of their marks: these are text, and all else is the template's. */
function parts(prompt: string, marks: readonly string[], names: readonly string[]): PromptPart[] {
  if (marks.length === 0) return prompt === '' ? [] : [[prompt, true]];
  return prompt
    .split(new RegExp(`(${anyOf(marks).source})`, 'u'))
    .map((text, place): PromptPart => {
      return place % 2 === 0 ? [text, true] : [names[marks.indexOf(text)] ?? '', false];
    })
    .filter(([text]) => text !== '');
}

/** Finds each of these texts. */
function anyOf(texts: readonly string[]): RegExp {
  return new RegExp(texts.map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|'), 'g');
}
