// Attention of translations: each sentence and its translation are read once more, and their tokens put beside the weights.

import { attentionOf, checkRoom } from './attention.js';
import { notSupported } from './errors.js';
import type { Requests } from './protocol.js';
import type { Route } from './route.js';
import type { Attention, Token, TranslatedSentence, Translation } from './types.js';

const KINDS = ['encoder', 'decoder', 'cross'] as const;

/** What adds the attention that is asked for to the sentences of a translation. What the model does not have is said now. */
export async function attending(
  request: unknown,
  route: Route,
  signal: AbortSignal,
): Promise<(translation: Translation) => Promise<Translation>> {
  const attention = attentionOf(request);
  if (!route.isDirect) {
    throw notSupported(
      'attention is that of one model; through English there are two, each with its own: make a Translator of each pair',
    );
  }
  if (attention === undefined) return async (translation) => translation;
  const weightsOf = (tokens: readonly Token[], others: readonly Token[]) =>
    route.attend({ source: ids(tokens), target: ids(others), attention }, signal);
  const counts = (await weightsOf([], [])).map(({ layers, heads }) => layers.length * heads.length);
  return async ({ text, sentences }) => {
    checkRoom(sentences.filter(isRead).reduce((sum, one) => sum + bytesOf(one, counts), 0));
    const watched: TranslatedSentence[] = [];
    for (const sentence of sentences) {
      if (!isRead(sentence)) {
        watched.push(sentence);
        continue;
      }
      const weights = await weightsOf(sentence.sourceTokens, sentence.targetTokens);
      watched.push({ ...sentence, attention: besideTokens(weights, sentence) });
    }
    return { text, sentences: watched };
  };
}

/** Of as many layers times heads of each kind. */
function bytesOf({ sourceTokens, targetTokens }: TranslatedSentence, counts: readonly number[]): number {
  const [source, target] = [sourceTokens.length + 1, targetTokens.length + 1];
  const sizes = [source * source, target * target, target * source];
  return sizes.reduce((sum, size, kind) => sum + 4 * size * (counts[kind] ?? 0), 0);
}

/** What was passed through no model has read. */
const isRead = ({ sourceTokens }: TranslatedSentence): boolean => sourceTokens.length > 0;

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
