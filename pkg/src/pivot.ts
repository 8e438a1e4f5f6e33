// Two translations in a row seen as one: from the source over the middle text to the target.
//
// Sentences. The second model takes the middle text apart on its own, so that a middle sentence may be split there,
// or joined with the next. Sentences of both steps whose ranges in the middle text overlap, directly or by way of
// others, form one sentence of the result: its ranges reach from the first to the last of them on either side, so
// that they stay in order, never overlap and leave out only white space.
//
// Alignments. alignment[target, source] = Σ second[target, middle′] · share[middle′, middle] · first[middle, source].
// The two models cut the middle text into different tokens: `share` divides a token of the second model among those of
// the first by the characters they have in common. One without any goes to the nearest. The end token of a middle
// sentence is that of the source sentence it ends in. Columns and rows are those of all sentences that were put
// together, one after the other, with one end token last: its column is the sum of their end columns, its row that of
// the last sentence.
//
// A score is the sum of both steps' scores, each the mean of its sentences'.

import type { Token, TranslatedSentence, Translation } from './types.js';

/** Sentences of the first step and those of the second that belong together. */
interface Group {
  first: TranslatedSentence[];
  second: TranslatedSentence[];
}

/** The translation from `first`'s source to `second`'s target, where `second` translates `first.text`. */
export function chained(first: Translation, second: Translation): Translation {
  return { text: second.text, sentences: groupsOf(first.sentences, second.sentences).map(joined) };
}

function groupsOf(first: readonly TranslatedSentence[], second: readonly TranslatedSentence[]): Group[] {
  const groups: Group[] = [];
  let open: Group = { first: [], second: [] };
  let end = -1;
  let [i, j] = [0, 0];
  for (;;) {
    const [one, other] = [first[i], second[j]];
    const isFirst = one !== undefined && (other === undefined || one.target[0] <= other.source[0]);
    const next = isFirst ? one.target : other?.source;
    if (next === undefined) break;
    if (next[0] >= end) groups.push((open = { first: [], second: [] }));
    end = Math.max(end, next[1]);
    if (isFirst) open.first.push(...first.slice(i, ++i));
    else open.second.push(...second.slice(j, ++j));
  }
  return withBothSides(groups);
}

/** A sentence that became nothing has no partner: it goes to the one before it, or to the first. */
function withBothSides(groups: readonly Group[]): Group[] {
  const whole: Group[] = [];
  let waiting: Group | undefined;
  for (const group of groups) {
    const last = whole.at(-1);
    const isWhole = group.first.length > 0 && group.second.length > 0;
    if (isWhole) {
      whole.push(waiting === undefined ? group : together(waiting, group));
      waiting = undefined;
    } else if (last === undefined) {
      waiting = waiting === undefined ? group : together(waiting, group);
    } else {
      whole[whole.length - 1] = together(last, group);
    }
  }
  return waiting === undefined ? whole : [waiting];
}

function together(a: Group, b: Group): Group {
  return { first: [...a.first, ...b.first], second: [...a.second, ...b.second] };
}

function joined({ first, second }: Group): TranslatedSentence {
  const targetTokens = second.flatMap((sentence) => sentence.targetTokens);
  const isPassedThrough = targetTokens.length === 0;
  const sourceTokens = isPassedThrough ? [] : first.flatMap((sentence) => sentence.sourceTokens);
  return {
    source: rangeOf(first.map(({ source }) => source)),
    target: rangeOf(second.map(({ target }) => target)),
    sourceTokens,
    targetTokens,
    alignment: isPassedThrough ? new Float32Array() : product(first, second, sourceTokens.length + 1),
    score: mean(first) + mean(second),
  };
}

function rangeOf(ranges: readonly [number, number][]): [number, number] {
  return [ranges[0]?.[0] ?? 0, ranges.at(-1)?.[1] ?? 0];
}

function mean(sentences: readonly TranslatedSentence[]): number {
  return sentences.reduce((sum, { score }) => sum + score, 0) / Math.max(sentences.length, 1);
}

/** A token of the middle text, as the first model wrote it, and what it looked at: [columns]. */
interface Middle {
  range: [number, number];
  row: Float64Array;
}

/** [rows of all targets and the end, columns] */
function product(
  first: readonly TranslatedSentence[],
  second: readonly TranslatedSentence[],
  columns: number,
): Float32Array<ArrayBuffer> {
  const { middles, ends } = middleRows(first, columns);
  const rows: Float64Array[] = [];
  let endRow: Float64Array | undefined;
  for (const sentence of second) {
    const { sourceTokens, targetTokens, alignment } = sentence;
    if (targetTokens.length === 0) continue;
    // What each token of the second model's source looked at: [middle′ and the end, columns].
    const seen = sourceTokens.map(({ range }) => shared(range, middles, columns));
    seen.push(endOf(sentence, first, ends, columns));
    for (let row = 0; row <= targetTokens.length; row++) {
      const sum = new Float64Array(columns);
      for (const [column, part] of seen.entries())
        addTo(sum, part, alignment[row * seen.length + column] ?? 0);
      if (row < targetTokens.length) rows.push(sum);
      else endRow = sum;
    }
  }
  const flat = new Float32Array((rows.length + 1) * columns);
  for (const [row, values] of [...rows, endRow ?? onEnd(columns)].entries()) {
    const total = values.reduce((sum, value) => sum + value, 0);
    const whole = total > 0 ? values.map((value) => value / total) : onEnd(columns);
    flat.set(whole, row * columns);
  }
  return flat;
}

/** The rows of the first step over the columns of the whole, and the end row of each of its sentences. */
function middleRows(
  first: readonly TranslatedSentence[],
  columns: number,
): { middles: Middle[]; ends: Float64Array[] } {
  const middles: Middle[] = [];
  const ends: Float64Array[] = [];
  let offset = 0;
  for (const { sourceTokens, targetTokens, alignment } of first) {
    const width = sourceTokens.length + 1;
    const rowAt = (row: number): Float64Array => {
      const values = new Float64Array(columns);
      values.set(alignment.subarray(row * width, (row + 1) * width - 1), offset);
      values[columns - 1] = alignment[(row + 1) * width - 1] ?? 0;
      return values;
    };
    for (const [row, { range }] of targetTokens.entries()) middles.push({ range, row: rowAt(row) });
    ends.push(alignment.length === 0 ? onEnd(columns) : rowAt(targetTokens.length));
    offset += sourceTokens.length;
  }
  return { middles, ends };
}

/** What a range of the middle text looked at, by the characters it shares with the first model's tokens. */
function shared(range: Token['range'], middles: readonly Middle[], columns: number): Float64Array {
  const sum = new Float64Array(columns);
  let total = 0;
  let nearest: Middle | undefined;
  let distance = Infinity;
  for (const middle of middles) {
    const overlap = Math.min(range[1], middle.range[1]) - Math.max(range[0], middle.range[0]);
    if (overlap > 0) {
      addTo(sum, middle.row, overlap);
      total += overlap;
    } else if (-overlap < distance) {
      [nearest, distance] = [middle, -overlap];
    }
  }
  if (total > 0) return sum.map((value) => value / total);
  return nearest?.row ?? onEnd(columns);
}

/** The end row of the source sentence that a sentence of the second step ends in. */
function endOf(
  sentence: TranslatedSentence,
  first: readonly TranslatedSentence[],
  ends: readonly Float64Array[],
  columns: number,
): Float64Array {
  const place = first.findLastIndex(({ target }) => target[0] < sentence.source[1]);
  return ends[place] ?? onEnd(columns);
}

/** All weight on the end token. */
function onEnd(columns: number): Float64Array {
  const row = new Float64Array(columns);
  row[columns - 1] = 1;
  return row;
}

function addTo(sum: Float64Array, part: Float64Array, weight: number): void {
  for (let index = 0; index < sum.length; index++)
    sum[index] = (sum[index] ?? 0) + weight * (part[index] ?? 0);
}
