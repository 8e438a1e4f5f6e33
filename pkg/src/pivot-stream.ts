// A stream through English that begins before the whole text is in English: stretches of lines go through both models
// one after the other. Nothing reaches over a line break but what pairs (brackets, tags), so the result is that of the
// whole text; where something does, the rest goes through as one.

import { isContained, LINE_BREAK } from './contained.js';

/** Characters of a stretch: enough for a model to work on several sentences at once. */
const STRETCH = 800;

/**
 * Translates `text` by `first` and then `second`, stretch by stretch; `second` hands out its pieces itself. The whole
 * translation is returned.
 */
export async function throughBoth(
  text: string,
  first: (text: string) => Promise<string>,
  second: (text: string) => Promise<string>,
): Promise<string> {
  const parts = isContained(text) ? stretches(text) : [text];
  let whole = '';
  for (const [place, part] of parts.entries()) {
    const middle = await first(part);
    const rest = parts.slice(place + 1).join('');
    if (rest === '' || isContained(middle)) {
      whole += await second(middle);
    } else {
      return whole + (await second(middle + (await first(rest))));
    }
  }
  return whole;
}

/** `text` cut behind line breaks: the first line, then as many as a stretch holds. Joined they are the text. */
export function stretches(text: string): string[] {
  const found: string[] = [];
  let start = 0;
  let end = 0;
  for (let at = 0; at < text.length; at++) {
    if (!LINE_BREAK.test(text.charAt(at))) continue;
    const isFirst = found.length === 0 && text.slice(start, at).trim() !== '';
    if (isFirst || at + 1 - start > STRETCH) {
      const cut = isFirst || end <= start ? at + 1 : end;
      found.push(text.slice(start, cut));
      start = cut;
    }
    end = at + 1;
  }
  if (start < text.length || found.length === 0) found.push(text.slice(start));
  return found;
}
