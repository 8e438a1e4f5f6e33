// What callers say, as turns, and which turns make room.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withoutOldest } from '../dist/overflow.js';
import { turnsBefore, turnsOf } from '../dist/prompt.js';

test('a text is a turn of the user, messages are turns, parts are one text', () => {
  assert.deepEqual(turnsOf('Hi'), [{ role: 'user', content: 'Hi', prefix: false }]);
  assert.deepEqual(
    turnsOf([
      { role: 'system', content: '' },
      {
        role: 'user',
        content: [
          { type: 'text', value: 'a' },
          { type: 'text', value: 'b' },
        ],
      },
      { role: 'assistant', content: 'c', prefix: true },
    ]),
    [
      { role: 'system', content: '', prefix: false },
      { role: 'user', content: 'ab', prefix: false },
      { role: 'assistant', content: 'c', prefix: true },
    ],
  );
});

test('messages are read once, and what is wrong with one names its place', () => {
  let reads = 0;
  const changing = {
    get role() {
      reads++;
      return reads === 1 ? 'user' : 'robot';
    },
    content: 'x',
  };
  assert.deepEqual(turnsOf([/** @type {any} */ (changing)]), [{ role: 'user', content: 'x', prefix: false }]);
  const failing = {
    role: 'user',
    get content() {
      throw new Error('no');
    },
  };
  /** @type {[unknown, RegExp][]} */
  const wrong = [
    [null, /a text or a list/],
    [[], /a text or a list/],
    [{ role: 'user', content: 'x' }, /a text or a list/],
    // oxlint-disable-next-line no-sparse-arrays -- a hole is nothing
    [[, 'x'], /message 0/],
    [[{ role: 'user', content: 'x' }, 'y'], /message 1/],
    [[{ role: 'User', content: 'x' }], /message 0: role.*"User"/],
    [[{ role: 'user', content: 5 }], /message 0: content/],
    [[{ role: 'user', content: ['x'] }], /message 0: content/],
    [[{ role: 'user', content: 'x', prefix: 1 }], /message 0: prefix/],
    [
      [
        { role: 'assistant', content: 'x', prefix: true },
        { role: 'user', content: 'y' },
      ],
      /message 0: prefix/,
    ],
    [[failing], /cannot be read: no/],
  ];
  for (const [prompt, said] of wrong) {
    assert.throws(() => turnsOf(/** @type {any} */ (prompt)), {
      code: 'invalid-argument',
      option: 'input',
      message: said,
    });
  }
  const begun = [/** @type {const} */ ({ role: 'assistant', content: 'x', prefix: true })];
  assert.throws(() => turnsBefore(begun, 'initialPrompts'), { option: 'initialPrompts' });
});

test('the oldest question goes with its answers, what always comes first stays', () => {
  const turns = Array.from('suaauua', (letter, place) => ({
    role:
      letter === 's'
        ? /** @type {const} */ ('system')
        : letter === 'u'
          ? /** @type {const} */ ('user')
          : /** @type {const} */ ('assistant'),
    content: String(place),
    prefix: false,
  }));
  const left = (/** @type {number} */ initial) => {
    const all = [];
    for (let kept = withoutOldest(turns, initial); kept !== undefined; kept = withoutOldest(kept, initial)) {
      all.push(kept.map(({ content }) => content).join(''));
    }
    return all;
  };
  assert.deepEqual(left(1), ['0456', '056', '0']);
  assert.deepEqual(left(3), ['012456', '01256', '012']);
  assert.deepEqual(left(0), ['123456', '456', '56', '']);
  assert.deepEqual(left(7), []);
});

test('what is on Object.prototype is no part of a message, what a message inherits is', () => {
  const added = { prefix: 5, role: 'robot', type: 'image', value: 7 };
  Object.assign(Object.prototype, added);
  try {
    const message = Object.create(Object.freeze({ role: 'assistant', content: 'b' }));
    assert.deepEqual(turnsOf([{ role: 'user', content: [{ type: 'text', value: 'a' }] }, message]), [
      { role: 'user', content: 'a', prefix: false },
      { role: 'assistant', content: 'b', prefix: false },
    ]);
    assert.throws(() => turnsOf(/** @type {any} */ ([{ content: 'a' }])), { option: 'input' });
  } finally {
    for (const name of Object.keys(added)) Reflect.deleteProperty(Object.prototype, name);
  }
});
