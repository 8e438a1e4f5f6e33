// Matching of language tags.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bestFor, language } from '../dist/languages.js';

const MODELS = [
  { id: 'en-pt', from: 'en', to: 'pt' },
  { id: 'en-ptBR', from: 'en', to: 'pt-BR' },
  { id: 'en-zh', from: 'en', to: 'zh-Hans' },
  { id: 'en-zh_hant', from: 'en', to: 'zh-Hant' },
  { id: 'en-sr', from: 'en', to: 'sr-Cyrl' },
];

/** @param {string} from @param {string} to */
const best = (from, to) => bestFor(MODELS, language(from, 'from'), language(to, 'to'))?.id;

test('exact tags win', () => {
  assert.equal(best('en', 'pt'), 'en-pt');
  assert.equal(best('en', 'pt-BR'), 'en-ptBR');
});

test('a region finds the language, scripts stay apart', () => {
  assert.equal(best('en-GB', 'pt'), 'en-pt');
  assert.equal(best('en', 'pt-PT'), 'en-pt');
  assert.equal(best('en', 'zh-TW'), 'en-zh_hant');
  assert.equal(best('en', 'zh'), 'en-zh');
  assert.equal(best('en', 'sr-Latn'), undefined);
  assert.equal(best('de', 'pt'), undefined);
  assert.equal(best('pt', 'en'), undefined);
});

test('a malformed tag is an error that names the option', () => {
  for (const tag of ['', 'en_US', 'english language', 7, undefined]) {
    assert.throws(() => language(tag, 'to'), { code: 'invalid-argument', option: 'to' });
  }
});
