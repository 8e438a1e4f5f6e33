// Published chat templates, filled in as transformers does it with jinja2; what users type stays text.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { chatOf } from '../dist/chat.js';

/** @typedef {{ role: 'system' | 'user' | 'assistant', content: string }} Message */
/** @typedef {{ bos: string, eos: string, control: string[], template: string }} Published */
/** @typedef {[template: string, conversation: string, end: 'none' | 'answer' | 'prefix', text: string | null, refusal?: string]} Case */

/** @param {string} name @returns {unknown} */
const fixture = (name) =>
  JSON.parse(readFileSync(new URL(`../../tests/fixtures/chat/${name}`, import.meta.url), 'utf8'));

const templates = /** @type {Record<string, Published>} */ (fixture('templates.json'));
const { conversations, cases } = /** @type {{ conversations: Record<string, Message[]>, cases: Case[] }} */ (
  fixture('rendered.json')
);

/** @param {Published} published */
const infoOf = ({ bos, eos, control, template }) => ({
  contextLength: 100,
  chatTemplate: template,
  bosToken: bos,
  eosToken: eos,
  controlTokens: control,
});

/** @param {Message[]} messages */
const turnsOf = (messages, prefix = false) =>
  messages.map((message, place) => ({ ...message, prefix: prefix && place === messages.length - 1 }));

/** How often a text has another. @param {string} text @param {string} part */
const times = (text, part) => text.split(part).length - 1;

for (const [name, published] of Object.entries(templates)) {
  test(`the template of ${name} is filled in as by transformers, byte for byte`, async () => {
    const render = await chatOf(infoOf(published));
    const own = cases.filter(([template]) => template === name);
    assert(own.length > 20);
    for (const [, label, end, text, refusal] of own) {
      const turns = turnsOf(conversations[label] ?? [], end === 'prefix');
      const attempt = () => render(turns, end !== 'none');
      if (text === null) {
        assert.throws(attempt, (/** @type {any} */ error) => {
          assert.deepEqual([error.code, error.option], ['invalid-argument', 'input']);
          assert(error.message.includes(refusal ?? '?'), error.message);
          return true;
        });
        continue;
      }
      const parts = attempt();
      assert.equal(parts.map(([part]) => part).join(''), text, `${name}, ${label}, ${end}`);
    }
  });

  test(`names of control tokens that somebody types are text in the template of ${name}`, async () => {
    const render = await chatOf(infoOf(published));
    // By how many the template's own are more in the same chat without them.
    const typed = turnsOf(conversations['typed'] ?? []);
    const plain = typed.map((turn) => ({
      ...turn,
      content: published.control.reduce((text, token) => text.replaceAll(token, '-'), turn.content),
    }));
    const [own, other] = [render(typed, true), render(plain, true)];
    for (const token of published.control) {
      const inMessages = typed.reduce((sum, { content }) => sum + times(content, token), 0);
      const asText = own.filter(([part, isTemplate]) => !isTemplate && part === token).length;
      const inTemplate = own.reduce((sum, [part, is]) => sum + (is ? times(part, token) : 0), 0);
      assert.equal(asText, inMessages, token);
      assert.equal(
        inTemplate,
        other.reduce((sum, [part]) => sum + times(part, token), 0),
        token,
      );
    }
  });
}

test('of names of which one is in another the longer one is found', async () => {
  const info = {
    contextLength: 9,
    controlTokens: ['<a>', '<a><b>', '<b>'],
    chatTemplate: '{{ messages[0].content }}',
  };
  const render = await chatOf(info);
  assert.deepEqual(render([{ role: 'user', content: 'x<a><b><b><a>', prefix: false }], true), [
    ['x', true],
    ['<a><b>', false],
    ['<b>', false],
    ['<a>', false],
  ]);
});

test('characters for private use in a message are left alone', async () => {
  const info = {
    contextLength: 9,
    controlTokens: ['<a>'],
    chatTemplate: '\ue002[{{ messages[0].content }}]',
  };
  const render = await chatOf(info);
  assert.deepEqual(render([{ role: 'user', content: '\ue000<a>\ue001', prefix: false }], true), [
    ['\ue002[\ue000', true],
    ['<a>', false],
    ['\ue001]', true],
  ]);
});

test('what a template does to a message does not let its names become tokens', async () => {
  // Cut at the name, in capitals, backwards, trimmed.
  const uses = [
    "{{ m.split('<a>') | join('<a>') }}",
    '{{ m | upper }}',
    '{{ m[::-1] }}',
    '{{ m | trim }}',
    "{{ m.split('a')[0] }}",
  ];
  for (const use of uses) {
    const chatTemplate = `<a>{% set m = messages[0].content %}${use}<a>`;
    const render = await chatOf({ contextLength: 9, controlTokens: ['<a>'], chatTemplate });
    const parts = render([{ role: 'user', content: ' <a>x<a> ', prefix: false }], true);
    const own = parts.filter(([, isTemplate]) => isTemplate).map(([part]) => part);
    // Its own two at the ends, and none between them.
    assert.equal(
      own.reduce((sum, part) => sum + times(part, '<a>'), 0),
      2,
      use,
    );
    assert(own[0]?.startsWith('<a>') && own.at(-1)?.endsWith('<a>'), use);
  }
});

test('a model without a template, or with one that nobody can read, says so', async () => {
  const none = { contextLength: 9, controlTokens: [] };
  await assert.rejects(chatOf(none), {
    code: 'model-unsupported',
    message: /no chat template.*complete\(\)/s,
  });
  await assert.rejects(chatOf({ ...none, chatTemplate: '{% for %}' }), { code: 'model-unsupported' });
  const render = await chatOf({ ...none, chatTemplate: '{{ messages[0].nothing.deeper() }}' });
  assert.throws(() => render([{ role: 'user', content: 'x', prefix: false }], true), {
    code: 'model-unsupported',
  });
});

test('a template asks for the date in English, wherever the page is', async () => {
  const render = await chatOf({
    contextLength: 9,
    controlTokens: [],
    chatTemplate: "{{ strftime_now('%d %B %Y|%b|%H:%M|%%|%y|%m') }}",
  });
  const before = new Date();
  const text = render([{ role: 'user', content: 'x', prefix: false }], true)
    .map(([part]) => part)
    .join('');
  const month = before.toLocaleDateString('en-GB', { month: 'long' });
  const [date, short, , percent] = text.split('|');
  assert.match(date ?? '', new RegExp(`^\\d\\d ${month} ${before.getFullYear()}$`));
  assert.equal(short, month.slice(0, 3));
  assert.equal(percent, '%');
});

test('a template that asks for a list without end is told from one that does not take a chat', async () => {
  // Jinja's sandbox, in which transformers runs templates, refuses ranges of more than 100000 numbers.
  const rendered = async (/** @type {number} */ count) => {
    const chatTemplate = `{% for i in range(${count}) %}{% endfor %}x`;
    const render = await chatOf({ contextLength: 9, controlTokens: [], chatTemplate });
    return render([{ role: 'user', content: 'Hi', prefix: false }], true);
  };
  assert.deepEqual(await rendered(100_000), [['x', true]]);
  await assert.rejects(rendered(100_001), { code: 'model-unsupported', message: /range\(\)/ });
});
