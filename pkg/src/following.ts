// What LiveTranslation does once a text comes: fetched then.

import { isContained } from './contained.js';
import { tell } from './errors.js';
import { Known, lines, moved } from './known.js';
import type { LiveProgress, LiveTranslationResult } from './live.js';
import { changeOf, type Change } from './seams.js';
import { detailInPieces, isDirect, type Translator } from './translator.js';
import type { TranslatedSentence, Translation } from './types.js';

/** Characters that go to the model in one call: enough for it to work on several lines at once. */
const CALL = 800;

interface Built {
  source: string;
  text: string;
  sentences: TranslatedSentence[];
}

/** A text being edited, and what is known of its translation. */
export class Following {
  readonly #translator: Translator;
  readonly #onProgress: ((progress: LiveProgress) => void) | undefined;
  readonly #direct: boolean;
  readonly #known: Known;
  #last: Built = { source: '', text: '', sentences: [] };

  constructor(translator: Translator, onProgress: ((progress: LiveProgress) => void) | undefined) {
    this.#translator = translator;
    this.#direct = isDirect(translator);
    this.#known = new Known(this.#direct);
    this.#onProgress = onProgress;
  }

  async translate(source: string, signal: AbortSignal): Promise<LiveTranslationResult> {
    const before = this.#last;
    const change = changeOf({ ...before, direct: this.#direct }, source);
    const around = new Surroundings(before, change, source);
    const middle: Built = { source: source.slice(change.start, change.newEnd), text: '', sentences: [] };
    const translated: [number, number][] = [];
    let place = 0;
    for (const call of this.#calls(middle.source)) {
      middle.text += middle.source.slice(place, call.start);
      const part = middle.source.slice(call.start, call.end);
      let known = call.known;
      if (known === undefined) {
        translated.push([change.start + call.start, change.start + call.end]);
        let fresh = '';
        known = await detailInPieces(this.#translator, part, signal, (piece) => {
          if (signal.aborted) return;
          fresh += piece;
          this.#report(around, { ...middle, text: middle.text + fresh });
        });
        if (call.lines) this.#known.add(part, known);
      }
      for (const one of known.sentences) middle.sentences.push(moved(one, call.start, middle.text.length));
      middle.text += known.text;
      place = call.end;
      signal.throwIfAborted();
      if (call.known === undefined) this.#report(around, middle);
    }
    middle.text += middle.source.slice(place);
    const { text, sentences } = around.with(middle, middle.text.length);
    this.#last = { source, text, sentences };
    return { source, text, sentences: [...sentences], translated };
  }

  /** Ranges of `text` to be translated on their own, with what is known of them; white space between them stays. */
  *#calls(text: string): Generator<{ start: number; end: number; lines: boolean; known?: Translation }> {
    if (!isContained(text)) {
      // A pair may reach over line breaks.
      if (text !== '') yield { start: 0, end: text.length, lines: false };
      return;
    }
    let open: [number, number] | undefined;
    for (const [start, end] of lines(text)) {
      const known = this.#known.get(text.slice(start, end));
      if (open !== undefined && (known !== undefined || end - open[0] > CALL)) {
        yield { start: open[0], end: open[1], lines: true };
        open = undefined;
      }
      if (known === undefined) open = [open?.[0] ?? start, end];
      else yield { start, end, lines: true, known };
    }
    if (open !== undefined) yield { start: open[0], end: open[1], lines: true };
  }

  #report(around: Surroundings, middle: Built): void {
    if (this.#onProgress === undefined) return;
    tell(this.#onProgress, around.with(middle, Math.max(middle.text.length, around.stale.length)));
  }
}

/** What stays before and behind a change. */
class Surroundings {
  readonly #before: Built;
  readonly #change: Change;
  readonly #source: string;
  readonly #head: string;
  readonly #tail: string;
  /** What stood in the place of the changed stretch. */
  readonly stale: string;

  constructor(before: Built, change: Change, source: string) {
    const { text, sentences } = before;
    this.#before = before;
    this.#change = change;
    this.#source = source;
    const from = change.first === 0 ? 0 : (sentences[change.first]?.target[0] ?? 0);
    const to = sentences[change.next]?.target[0] ?? text.length;
    this.#head = text.slice(0, from);
    this.stale = text.slice(from, to);
    this.#tail = text.slice(to);
  }

  /** The whole with `middle` (ranges from 0) in the place of the change, filled to `length` with what stood there. */
  with(middle: Built, length: number): LiveProgress {
    const { first, next, start, oldEnd, newEnd } = this.#change;
    const head = this.#head.length;
    const filled = middle.text + this.stale.slice(middle.text.length, length);
    const behind = head + filled.length - (this.#before.text.length - this.#tail.length);
    const kept = this.#before.sentences;
    const fresh = [...middle.sentences];
    return {
      source: this.#source,
      text: this.#head + filled + this.#tail,
      // Put together when somebody asks: reports are many, and few look at more than their text.
      get sentences() {
        return [
          ...kept.slice(0, first),
          ...fresh.map((one) => moved(one, start, head)),
          ...kept.slice(next).map((one) => moved(one, newEnd - oldEnd, behind)),
        ];
      },
      pending: [head + middle.text.length, head + filled.length],
    };
  }
}
