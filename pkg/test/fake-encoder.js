// An encoder for tests, as the wasm offers them, whose "tokens" are letters and whose vectors can be told by hand: a text's
// is [letters read, code of the first letter, pooling, normalize].

/** Most letters that it reads. */
export const MOST = 16;

/** @typedef {{ pooling?: 'mean' | 'cls' | 'max', normalize?: boolean, tooLong?: string, detail?: boolean, topK?: number }} Options */

/** What has happened, in order. @type {string[]} */
export const events = [];

class Job {
  completed = 0;

  /** @param {readonly string[]} texts @param {Options} options @param {() => unknown} answer */
  constructor(texts, { tooLong }, answer) {
    this.texts = texts;
    this.answer = answer;
    const place = texts.findIndex((text) => text.length > MOST);
    if (tooLong === 'error' && place >= 0) {
      const requested = texts[place]?.length ?? 0;
      const message = `text ${place} has ${requested} tokens, the model takes ${MOST}`;
      throw Object.assign(new Error(message), { code: 'invalid-argument', option: 'tooLong' });
    }
  }

  get done() {
    return this.completed === this.texts.length;
  }

  /** One text a step; @param {number} budget */
  async step(budget) {
    if (!(budget > 0)) throw new Error('no time');
    const text = this.texts[this.completed];
    if (text === undefined) return;
    if (text.includes('trap')) throw new WebAssembly.RuntimeError('unreachable');
    events.push(text);
    this.completed++;
  }

  finish() {
    return this.answer();
  }

  free() {
    events.push('free');
  }
}

class EncoderModel {
  /** @param {Record<string, { name: string, data: unknown }>} files @param {{ precision: string }} options */
  constructor(files, { precision }) {
    const tasks = 'modules.json' in files ? ['embed'] : ['embed', 'classify', 'tag', 'fill'];
    this.info = {
      precision: precision === 'int8' ? 'int8' : 'float32',
      architecture: Object.keys(files).toSorted().join(' '),
      tasks,
      dimensions: 4,
      maxTokens: MOST,
      maskToken: '_',
    };
  }

  /** @param {string} text */
  tokenize(text) {
    return Array.from(text, (letter, place) => ({
      id: letter.charCodeAt(0),
      text: letter,
      range: [place, place + 1],
    }));
  }

  /** @param {readonly string[]} texts @param {Options} options */
  embed(texts, options) {
    const { pooling, normalize, detail } = options;
    return new Job(texts, options, () => ({
      vectors: Float32Array.from(
        texts.flatMap((text) => [
          Math.min(text.length, MOST),
          text.charCodeAt(0) || 0,
          ['mean', 'cls', 'max'].indexOf(pooling ?? ''),
          normalize === undefined ? -1 : Number(normalize),
        ]),
      ),
      truncated: texts.map((text) => text.length > MOST),
      ...(detail ? { tokens: texts.map((text) => this.tokenize(text.slice(0, MOST))) } : {}),
    }));
  }

  /** @param {string} text @param {Options} options */
  classify(text, options) {
    const labels = ['yes', 'no'].map((label, place) => ({ label, score: 0.75 - place / 2 }));
    return new Job([text], options, () => ({
      labels: labels.slice(0, options.topK),
      truncated: text.length > MOST,
    }));
  }

  /** @param {string} text @param {Options} options */
  tagTokens(text, options) {
    const entity = { label: 'PER', score: 0.5, text: text.slice(0, 3), range: [0, 3] };
    return new Job([text], options, () => ({ entities: [entity], truncated: text.length > MOST }));
  }

  /** @param {string} text @param {Options} options */
  fillMask(text, options) {
    const place = text.indexOf('_');
    return new Job([text], options, () => ({
      candidates: Array.from({ length: options.topK ?? 5 }, (_, rank) => ({
        token: { id: rank, text: 'a', range: [place, place + 1] },
        score: 1 / 2 ** (rank + 1),
        text: text.replace('_', 'a'),
      })),
      truncated: false,
    }));
  }

  free() {
    events.push('free model');
  }
}

/** The fake in the place of the wasm's. @param {object} files @param {{ precision: string }} options */
export function encoder(files, options) {
  const model = new EncoderModel(
    /** @type {ConstructorParameters<typeof EncoderModel>[0]} */ (files),
    options,
  );
  return /** @type {import('../dist/encoder-host.js').WasmEncoderModel} */ (/** @type {unknown} */ (model));
}
