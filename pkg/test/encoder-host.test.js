// The queue of an encoder in the worker, on one of the tests' own that does a text a step.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { EncoderHost } from '../dist/encoder-host.js';
import { encoder, events } from './fake-encoder.js';
import { connectTo } from './page-end.js';

beforeEach(() => {
  events.length = 0;
});

const connect = () => connectTo((files) => new EncoderHost(encoder(files, { precision: 'int8' })));

/** @param {ReturnType<typeof connect>} connection */
async function loaded({ ask }) {
  await ask({ kind: 'start', threads: 1, wasmBase: undefined });
  const file = { name: 'config.json', data: new Uint8Array(2) };
  return ask({ kind: 'load', model: 1, files: { 'config.json': file }, options: { precision: 'auto' } });
}

/** @param {readonly string[]} texts */
const embedding = (texts, detail = false) => ({ kind: 'embed', model: 1, texts, options: {}, detail });

test('loading says what the page has to know', async () => {
  const { answer } = await loaded(connect());
  assert.deepEqual(answer, {
    precision: 'int8',
    encoder: {
      architecture: 'config.json',
      tasks: ['embed', 'classify', 'tag', 'fill'],
      dimensions: 4,
      maxTokens: 16,
      maskToken: '_',
    },
    computes: 'letters, 1 thread',
  });
});

test('vectors come in one buffer that goes over, with tokens where they are asked for', async () => {
  const connection = connect();
  await loaded(connection);
  const { answer } = await connection.ask(embedding(['ab', 'c']));
  assert.deepEqual([...answer.vectors], [2, 97, -1, -1, 1, 99, -1, -1]);
  assert.deepEqual(answer.truncated, [false, false]);
  assert.equal(answer.tokens, undefined);
  const detailed = await connection.ask(embedding(['ab'], true));
  assert.deepEqual(
    detailed.answer.tokens[0].map((/** @type {{ text: string }} */ token) => token.text),
    ['a', 'b'],
  );
  assert.equal((await connection.ask(embedding([]))).answer.vectors.length, 0);
});

test('a call tells how many of its texts are done, until the answer says that all are', async () => {
  const connection = connect();
  await loaded(connection);
  const call = connection.ask(embedding(['a', 'b', 'c']));
  await call;
  assert.deepEqual(call.progress, [1, 2]);
});

test('one call after the other; an abort lets the next one in', async () => {
  const connection = connect();
  await loaded(connection);
  const { ask, receive } = connection;
  const first = ask(embedding(['a', 'b', 'c', 'd']));
  const second = ask({ kind: 'tag', model: 1, text: 'Ana is here', options: {} });
  const third = ask(embedding(['never']));
  const fourth = ask({ kind: 'fill', model: 1, text: 'x_', options: { topK: 1 } });
  receive({ kind: 'abort', call: third.call });
  receive({ kind: 'abort', call: first.call });
  assert.equal((await second).answer.entities[0].text, 'Ana');
  assert.equal((await fourth).answer.candidates[0].text, 'xa');
  assert(events.indexOf('free') < events.indexOf('Ana is here'), 'the aborted one is freed first');
  assert(!events.includes('d') && !events.includes('never'));
});

test('errors are answers; another kind of request is one', async () => {
  const connection = connect();
  await loaded(connection);
  const { ask } = connection;
  const long = { ...embedding(['a', 'b'.repeat(17)]), options: { tooLong: 'error' } };
  const { error } = await ask(long);
  assert.deepEqual(
    [error.code, error.message],
    ['invalid-argument', 'text 1 has 17 tokens, the model takes 16'],
  );
  const other = await ask({ kind: 'measure', model: 1, text: 'x' });
  assert.match(other.error.message, /'measure' asked of an encoder/);
  assert.equal(
    (await ask({ kind: 'classify', model: 1, text: 'x', options: { topK: 1 } })).answer.labels.length,
    1,
  );
  assert.equal((await ask({ kind: 'tokenize', model: 1, text: 'xy' })).answer.length, 2);
  await ask({ kind: 'unload', model: 1 });
  assert.equal(events.at(-1), 'free model');
});
