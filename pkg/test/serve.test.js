// The worker's queues, on a module whose model "translates" letter by letter to upper case.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TranslationHost } from '../dist/translation-host.js';
import { connectTo } from './page-end.js';

/** What has happened, in order. @type {string[]} */
let events = [];

class Job {
  /** @param {readonly string[]} texts */
  constructor(texts) {
    this.texts = texts;
    this.place = 0;
    this.taken = 0;
  }

  get text() {
    return this.texts[0] ?? '';
  }

  get done() {
    return this.place >= this.text.length;
  }

  async step() {
    const letter = this.text[this.place++] ?? '';
    if (letter === '!') throw { code: 'internal', message: 'an exclamation mark' };
    if (letter === '#') throw new WebAssembly.RuntimeError('unreachable');
    events.push(letter);
  }

  takeText() {
    const start = this.taken;
    this.taken = this.place;
    return this.text.slice(start, this.taken).toUpperCase();
  }

  finishTexts() {
    return this.texts.map((text) => text.toUpperCase());
  }

  finish() {
    return this.texts.map((text) => ({
      text: text.toUpperCase(),
      sentences: [{ alignment: new Float32Array(4) }],
    }));
  }

  free() {
    events.push(`free ${this.text}`);
  }
}

/** "Reads" the target in the source's place. */
class AlignmentJob extends Job {
  /** @param {string} source @param {string} target */
  constructor(source, target) {
    super([target]);
    this.source = source;
  }

  /** @override */
  finish() {
    return super.finish().map((read) => ({ ...read, text: this.text, source: this.source }));
  }
}

class TranslationModel {
  precision = 'int8';

  /** @param {{ model: { name: string } }} files */
  constructor({ model }) {
    if (model.name === 'damaged') {
      throw { code: 'model-corrupt', message: 'damaged, byte 3', file: 'damaged', offset: 3 };
    }
  }

  /** @param {string} text */
  countTokens(text) {
    return text.length;
  }

  /** @param {readonly string[]} texts */
  start(texts) {
    return new Job(texts);
  }

  /** @param {string} source @param {string} target */
  startAlignment(source, target) {
    return new AlignmentJob(source, target);
  }

  free() {
    events.push('free model');
  }
}

const connect = () =>
  connectTo(
    (/** @type {any} */ files) => new TranslationHost(/** @type {any} */ (new TranslationModel(files))),
  );

/** @param {string} text */
const translation = (text, model = 1, want = 'text') => ({
  kind: 'translate',
  model,
  texts: [text],
  decoding: {},
  want,
});

/** Lets the server work until `condition` holds. @param {() => boolean} condition */
async function until(condition) {
  do {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  } while (!condition());
}

async function started() {
  events = [];
  const line = connect();
  await line.ask({ kind: 'start' });
  await line.ask({ kind: 'load', model: 1, files: { model: { name: 'a' } }, options: { precision: 'auto' } });
  await line.ask({ kind: 'load', model: 2, files: { model: { name: 'b' } }, options: { precision: 'auto' } });
  return line;
}

test('one model: calls one after the other; two models: in turn', async () => {
  const { ask } = await started();
  const answers = await Promise.all([
    ask(translation('abcd')),
    ask(translation('ef')),
    ask(translation('wxyz', 2)),
  ]);
  assert.deepEqual(
    answers.map(({ answer }) => answer),
    [['ABCD'], ['EF'], ['WXYZ']],
  );
  assert.equal(events.join(''), 'awbxcydzef');
});

test('a given pair waits in the same queue, answers once and is aborted like any call', async () => {
  const { ask, receive } = await started();
  const align = (/** @type {string} */ target) => ({
    kind: 'align',
    model: 1,
    source: 'S',
    target,
    decoding: {},
  });
  const first = ask(translation('ab'));
  const second = ask(align('cd'));
  const third = ask(align('e'.repeat(100_000)));
  const last = ask(align('f'));
  assert.deepEqual((await first).answer, ['AB']);
  const { answer } = await second;
  assert.deepEqual([answer.length, answer[0].text, answer[0].source], [1, 'cd', 'S']);
  assert.deepEqual(second.pieces, []);
  await until(() => events.includes('e'));
  receive({ kind: 'abort', call: third.call });
  assert.equal((await last).answer[0].text, 'f');
  assert.equal(events.join('').replace(/e+/, 'e'), `abcdefree ${'e'.repeat(100_000)}f`);
});

test('pieces come in order and make up the answer', async () => {
  const { ask } = await started();
  const call = ask(translation('hello', 1, 'stream'));
  const { answer } = await call;
  assert.deepEqual(call.pieces, ['H', 'E', 'L', 'L', 'O']);
  assert.deepEqual(answer, ['HELLO']);
});

test('an abort frees its job and leaves the others', async () => {
  const { ask, receive } = await started();
  const first = ask(translation('a'.repeat(100_000)));
  const queued = ask(translation('b'.repeat(100_000)));
  const last = ask(translation('c'));
  receive({ kind: 'abort', call: queued.call });
  await until(() => events.length > 10);
  receive({ kind: 'abort', call: first.call });
  assert.deepEqual((await last).answer, ['C']);
  assert(!events.includes('b'));
  assert.equal(events.filter((event) => event.startsWith('free')).length, 1);
  assert(events.filter((event) => event === 'a').length < 100_000);
});

test('a failed call leaves the others', async () => {
  const { ask } = await started();
  const answers = await Promise.all([ask(translation('ab!c')), ask(translation('d'))]);
  assert.deepEqual(answers[0].error, { code: 'internal', message: 'an exclamation mark' });
  assert.deepEqual(answers[1].answer, ['D']);
});

test('errors of loading keep their facts; a missing model is one', async () => {
  const { ask } = await started();
  const damaged = await ask({
    kind: 'load',
    model: 3,
    files: { model: { name: 'damaged' } },
    options: { precision: 'auto' },
  });
  assert.deepEqual(damaged.error, {
    code: 'model-corrupt',
    message: 'damaged, byte 3',
    file: 'damaged',
    offset: 3,
  });
  assert.match((await ask(translation('a', 3))).error.message, /no model 3/);
});

test('a trap is told once, and nothing is answered after it', async () => {
  const { ask, traps } = await started();
  void ask(translation('a#b'));
  await until(() => traps.length > 0);
  assert.deepEqual(traps, [{ kind: 'trap', reason: 'unreachable' }]);
  let answered = false;
  void ask({ kind: 'measure', model: 1, text: 'a' }).then(() => {
    answered = true;
  });
  for (let turn = 0; turn < 20; turn++) await until(() => true);
  assert(!answered);
});

test('a model is unloaded after its open calls', async () => {
  const { ask } = await started();
  const call = ask(translation('ab'));
  const gone = ask({ kind: 'unload', model: 1 });
  assert.deepEqual((await call).answer, ['AB']);
  await gone;
  assert.equal(events.join(' '), 'a b free model');
  assert.match((await ask({ kind: 'measure', model: 1, text: 'a' })).error.message, /no model 1/);
});

/** A model that is warmed up in parts. @param {number} parts */
function warming(parts) {
  /** @type {string[]} */
  const seen = [];
  const { ask, receive } = connectTo(() => ({
    info: { precision: 'float32' },
    take: () => ({ answer: 1 }),
    free: () => seen.push('free'),
    warmUp: (/** @type {unknown} */ answer) => ({
      get done() {
        return parts === 0;
      },
      get completed() {
        return 10 - parts;
      },
      step: async () => {
        seen.push(`part ${parts--}`);
      },
      piece: () => '',
      finish: () => ({ answer, transfer: [] }),
      free: () => seen.push('stopped'),
    }),
  }));
  const load = () => ask({ kind: 'load', model: 1, files: {}, options: { precision: 'auto' } });
  return { seen, ask, receive, load };
}

test('a model that warms up is loaded once it has, and tells how far it is', async () => {
  const { seen, ask, load } = warming(3);
  await ask({ kind: 'start' });
  const call = load();
  const { answer } = await call;
  assert.deepEqual(answer, { precision: 'float32', computes: 'letters, 1 thread' });
  assert.deepEqual(seen, ['part 3', 'part 2', 'part 1']);
  assert.deepEqual(call.progress, [8, 9]);
});

test('an abort while it warms up frees it', async () => {
  const { seen, ask, receive, load } = warming(1_000_000);
  await ask({ kind: 'start' });
  const call = load();
  await until(() => seen.length > 2);
  receive({ kind: 'abort', call: call.call });
  await ask({ kind: 'unload', model: 1 });
  assert.deepEqual(seen.slice(-2), ['stopped', 'free']);
});

test('a lost device takes the worker along, and says so', async () => {
  const { ask, traps } = connectTo(() => ({
    info: { precision: 'float32' },
    take: () => {
      throw { code: 'device-lost', message: 'somebody pulled it out' };
    },
  }));
  await ask({ kind: 'start' });
  await ask({ kind: 'load', model: 1, files: {}, options: { precision: 'auto' } });
  void ask({ kind: 'measure', model: 1, text: 'a' });
  await until(() => traps.length > 0);
  assert.deepEqual(traps, [{ kind: 'trap', reason: 'somebody pulled it out', code: 'device-lost' }]);
});
