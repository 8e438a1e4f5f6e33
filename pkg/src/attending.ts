// Attention of translations: each sentence and its translation are read once more, and their tokens put beside the weights.

import { attentionOf } from './attention.js';
import { notSupported } from './errors.js';
import type { Requests } from './protocol.js';
import type { Route } from './route.js';
import type { Attention, Token, TranslatedSentence, Translation } from './types.js';

const KINDS = ['encoder', 'decoder', 'cross'] as const;

/** What adds the attention that is asked for to the sentences of a translation. */
export function attending(
  request: unknown,
  route: Route,
): (translation: Translation, signal: AbortSignal) => Promise<Translation> {
  const attention = attentionOf(request);
  if (!route.isDirect) {
    throw notSupported(
      'attention is that of one model; through English there are two, each with its own: make a Translator of each pair',
    );
  }
  return async ({ text, sentences }, signal) => {
    if (attention === undefined) return { text, sentences };
    const weightsOf = (tokens: readonly Token[], others: readonly Token[]) =>
      route.attend({ source: ids(tokens), target: ids(others), attention }, signal);
    const watched: TranslatedSentence[] = [];
    for (const sentence of sentences) {
      // What was passed through no model has read.
      if (sentence.targetTokens.length === 0) {
        watched.push(sentence);
        continue;
      }
      const weights = await weightsOf(sentence.sourceTokens, sentence.targetTokens);
      watched.push({ ...sentence, attention: besideTokens(weights, sentence) });
    }
    // What the model does not have is said of any text.
    if (watched.every((sentence) => sentence.attention === undefined)) await weightsOf([], []);
    return { text, sentences: watched };
  };
}

const ids = (tokens: readonly Token[]): number[] => tokens.map(({ id }) => id);

function besideTokens(weights: Requests['attend']['answer'], sentence: TranslatedSentence): Attention {
  const tokens = tokensOf(sentence);
  const attention: Attention = {};
  for (const [place, kind] of KINDS.entries()) {
    const one = weights[place];
    if (one !== undefined && one.weights.length > 0) attention[kind] = { ...one, ...tokens[kind] };
  }
  return attention;
}

/** Queries and keys of each kind. */
function tokensOf({ source, target, sourceTokens, targetTokens }: TranslatedSentence) {
  const sources = [...sourceTokens, mark('</s>', source[1])];
  const written = [...targetTokens, mark('</s>', target[1])];
  // A step reads what the one before it has written, and the first one nothing.
  const readTokens = [mark('', target[0]), ...targetTokens];
  return {
    encoder: { queryTokens: sources, keyTokens: sources },
    decoder: { queryTokens: written, keyTokens: readTokens },
    cross: { queryTokens: written, keyTokens: sources },
  };
}

/** A token that stands nowhere. The end has the id 0 in Marian's vocabularies. */
function mark(text: string, at: number): Token {
  return { id: 0, text, range: [at, at] };
}
