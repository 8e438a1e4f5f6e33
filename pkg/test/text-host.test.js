// The queues of a language model, on a module that "answers" a prompt with its own letters in capitals, one a step.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TextHost } from '../dist/text-host.js';
import { connectTo } from './page-end.js';

/** What has happened, in order. @type {string[]} */
let events = [];

class Job {
  /** @param {Session} session @param {string} prompt @param {{ maxNewTokens: number, contextWindow: number }} options */
  constructor(session, prompt, { maxNewTokens, contextWindow }) {
    this.session = session;
    this.prompt = prompt;
    this.most = Math.min(maxNewTokens, contextWindow - prompt.length, prompt.length);
    this.text = '';
    this.taken = 0;
    this.cached = session.read === '' ? 0 : commonLength(session.read, prompt);
  }

  get done() {
    return this.session.read.startsWith(this.prompt) && this.text.length >= this.most;
  }

  async step() {
    if (this.done) return;
    if (!this.session.read.startsWith(this.prompt)) {
      this.session.read = this.prompt;
      events.push(`${this.session.name} reads ${this.prompt}`);
      return;
    }
    const letter = this.prompt[this.text.length] ?? '';
    if (letter === '!') throw { code: 'internal', message: 'an exclamation mark' };
    this.text += letter.toUpperCase();
    events.push(`${this.session.name} writes ${letter.toUpperCase()}`);
  }

  takeText() {
    const start = this.taken;
    this.taken = this.text.length;
    return this.text.slice(start);
  }

  finish() {
    return {
      text: this.text,
      tokens: [],
      finishReason: 'stop',
      logprobs: new Float32Array(this.text.length),
      stats: { promptTokens: this.prompt.length, cachedTokens: this.cached },
    };
  }

  free() {
    events.push(`${this.session.name} lets go of ${this.prompt}`);
  }
}

/** @param {string} a @param {string} b */
function commonLength(a, b) {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}

let count = 0;

class Session {
  read = '';

  constructor(name = `s${++count}`) {
    this.name = name;
  }

  fork() {
    const forked = new Session(`${this.name}'`);
    forked.read = this.read;
    events.push(`${this.name} forks`);
    return forked;
  }

  /** @param {Uint32Array} ids @param {{ maxNewTokens: number, contextWindow: number }} options */
  generate(ids, options) {
    return new Job(this, String.fromCharCode(...ids), options);
  }

  free() {
    events.push(`${this.name} ends`);
  }
}

class TextModel {
  info = { precision: 'int8', contextLength: 100, controlTokens: [] };

  /** @param {[string, boolean][]} parts */
  encode(parts) {
    return Uint32Array.from(parts.map(([text]) => text).join(''), (letter) => letter.charCodeAt(0));
  }

  /** @param {string} text */
  tokenize(text) {
    return Array.from(text, (letter, place) => ({
      id: letter.charCodeAt(0),
      text: letter,
      range: [place, place + 1],
    }));
  }

  /** @param {Uint32Array} ids */
  detokenize(ids) {
    return String.fromCharCode(...ids);
  }

  session() {
    return new Session();
  }

  /** @param {string} text */
  score(text) {
    return new Job(new Session('score'), text, { maxNewTokens: text.length, contextWindow: 100 });
  }

  free() {
    events.push('free model');
  }
}

const connect = () => connectTo(() => new TextHost(/** @type {any} */ (new TextModel())));

/** @param {number} session @param {string} prompt @param {object} [options] */
const generation = (session, prompt, options = {}, stream = false) => ({
  kind: 'generate',
  model: 1,
  session,
  prompt: [[prompt, true]],
  options: { contextWindow: 50, ...options },
  stream,
});

async function started() {
  events = [];
  count = 0;
  const line = connect();
  await line.ask({ kind: 'start' });
  const loaded = await line.ask({ kind: 'load', model: 1, files: {}, options: { precision: 'auto' } });
  assert.deepEqual(loaded.answer, {
    precision: 'int8',
    text: { contextLength: 100, controlTokens: [] },
    computes: 'letters, 1 thread',
  });
  return line;
}

/** Lets the server work until `condition` holds. @param {() => boolean} condition */
async function until(condition) {
  do {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  } while (!condition());
}

test('the calls of one session wait for one another, sessions go on in turn', async () => {
  const { ask } = await started();
  const answers = await Promise.all([
    ask(generation(7, 'ab')),
    ask(generation(7, 'c')),
    ask(generation(8, 'xyz')),
  ]);
  assert.deepEqual(
    answers.map(({ answer }) => answer.text),
    ['AB', 'C', 'XYZ'],
  );
  assert.deepEqual(events, [
    's1 reads ab',
    's2 reads xyz',
    's1 writes A',
    's2 writes X',
    's1 writes B',
    's2 writes Y',
    's1 reads c',
    's2 writes Z',
    's1 writes C',
  ]);
});

test('pieces come only where they are wanted, and make up the text', async () => {
  const { ask } = await started();
  const [streamed, quiet] = [ask(generation(1, 'abc', {}, true)), ask(generation(2, 'abc'))];
  assert.equal((await streamed).answer.text, 'ABC');
  assert.deepEqual(streamed.pieces, ['A', 'B', 'C']);
  await quiet;
  assert.deepEqual(quiet.pieces, []);
});

test('the window is the limit where there is no other; what fills it is refused with its numbers', async () => {
  const { ask } = await started();
  const full = await ask(generation(1, 'abcdef', { contextWindow: 8 }));
  assert.equal(full.answer.text, 'AB');
  assert.equal((await ask(generation(1, 'abcdef', { contextWindow: 8, maxNewTokens: 1 }))).answer.text, 'A');
  for (const window of [6, 5]) {
    const { error } = await ask(generation(1, 'abcdef', { contextWindow: window }));
    assert.deepEqual([error.code, error.option], ['invalid-argument', 'input']);
    assert.deepEqual(error.quota, { requested: 6, quota: window });
  }
  // Read only, it may fill the window.
  const read = await ask(generation(1, 'abcdef', { contextWindow: 6, maxNewTokens: 0 }));
  assert.equal(read.answer.text, '');
});

test('a fork has read what its session has, in its turn; a session that read nothing forks to nothing', async () => {
  const { ask } = await started();
  void ask(generation(1, 'abc'));
  await ask({ kind: 'fork', model: 1, session: 1, as: 2 });
  assert.equal((await ask({ kind: 'fork', model: 1, session: 5, as: 6 })).answer, undefined);
  assert.equal((await ask(generation(2, 'abcd'))).answer.stats.cachedTokens, 3);
  assert.equal((await ask(generation(6, 'abcd'))).answer.stats.cachedTokens, 0);
  assert.deepEqual(events.slice(0, 5), [
    's1 reads abc',
    's1 writes A',
    's1 writes B',
    's1 writes C',
    's1 forks',
  ]);
});

test('an aborted call leaves what it has read; the next one goes on from there', async () => {
  const { ask, receive } = await started();
  const first = ask(generation(1, 'a'.repeat(40), { contextWindow: 100 }));
  const queued = ask(generation(1, 'b'));
  const last = ask(generation(1, 'a'.repeat(40), { contextWindow: 100 }));
  receive({ kind: 'abort', call: queued.call });
  await until(() => events.includes('s1 writes A'));
  receive({ kind: 'abort', call: first.call });
  assert.equal((await last).answer.stats.cachedTokens, 40);
  assert(!events.includes('s1 reads b'));
  assert.equal(events.filter((event) => event.startsWith('s1 lets go')).length, 1);
});

test('a call aborted before its turn is not begun', async () => {
  const { ask, receive } = await started();
  const other = ask(generation(2, 'x'));
  const first = ask(generation(1, 'abc'));
  receive({ kind: 'abort', call: first.call });
  await other;
  await ask(generation(1, 'd'));
  assert(!events.some((event) => event.includes('abc')), events.join());
});

test('a failed call frees its job and leaves the session', async () => {
  const { ask } = await started();
  assert.deepEqual((await ask(generation(1, 'a!b'))).error, {
    code: 'internal',
    message: 'an exclamation mark',
  });
  assert.equal((await ask(generation(1, 'c'))).answer.text, 'C');
  assert(events.includes('s1 lets go of a!b'));
});

test('closing waits for the open call; unloading ends what is left', async () => {
  const { ask } = await started();
  const open = ask(generation(1, 'ab'));
  void ask(generation(2, 'x'));
  const closed = ask({ kind: 'close', model: 1, session: 1 });
  const unloaded = ask({ kind: 'unload', model: 1 });
  assert.equal((await open).answer.text, 'AB');
  await closed;
  await unloaded;
  const end = events.indexOf('s1 ends');
  assert(end > events.indexOf('s1 writes B'));
  assert.deepEqual(events.slice(-2), ['s2 ends', 'free model']);
  assert.match((await ask(generation(1, 'ab'))).error.message, /no model 1/);
  assert.equal((await ask({ kind: 'unload', model: 1 })).answer, undefined);
});

test('what a conversation has read is let go of before the next one reads', async () => {
  const { ask } = await started();
  // The answer comes while the lane is looked after; what comes then waits for no round of the others.
  const [open, other] = [
    ask(generation(1, 'ab')),
    ask(generation(3, 'z'.repeat(40), { contextWindow: 100 })),
  ];
  await open;
  void ask({ kind: 'close', model: 1, session: 1 });
  await ask(generation(2, 'cd'));
  await other;
  assert(events.indexOf('s1 ends') < events.findIndex((event) => event.endsWith('reads cd')), events.join());
});

test('what needs no steps is answered at once; a request for another kind of model is an error', async () => {
  const { ask } = await started();
  void ask(generation(1, 'a'.repeat(40), { contextWindow: 100 }));
  assert.equal(
    (
      await ask({
        kind: 'count',
        model: 1,
        prompt: [
          ['ab', true],
          ['c', false],
        ],
      })
    ).answer,
    3,
  );
  assert.equal((await ask({ kind: 'tokenize', model: 1, text: 'ab' })).answer.length, 2);
  assert.equal((await ask({ kind: 'detokenize', model: 1, ids: [97, 98] })).answer, 'ab');
  const { error } = await ask({ kind: 'measure', model: 1, text: 'ab' });
  assert.deepEqual([error.code, error.message], ['internal', "'measure' asked of a language model"]);
  const scored = await ask({ kind: 'score', model: 1, text: 'ab' });
  assert.equal(scored.answer.logprobs.length, 2);
});
