// Which words looked at which, on the demo page in Chromium: by pointer, by keyboard, by touch.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Words, wordsOf } from '../../www/words.js';
import { demo } from './demo.mjs';

const { open, server } = demo();

/** Tokens of a text, given as it is cut: `The| cat`. @param {string} cut */
function cutTokens(cut) {
  let at = 0;
  return cut
    .split('|')
    .map((text, id) => ({ id, text, range: /** @type {[number, number]} */ ([at, (at += text.length)]) }));
}

test('words: tokens between white space, marks at their ends apart, nothing where nothing is', () => {
  const cut = "He| said|:| (|re|ally|).| don|'|t| x||-|ray";
  const text = cut.replaceAll('|', '');
  const words = wordsOf(text, cutTokens(cut), 0);
  assert.deepEqual(
    words.map(({ range }) => text.slice(...range)),
    ['He', 'said', ':', '(', 'really', ').', "don't", 'x-ray'],
  );
  assert.deepEqual(
    words.map((word) => word.tokens),
    [[0], [1], [2], [3], [4, 5], [6], [7, 8, 9], [10, 12, 13]],
  );
  assert.deepEqual(wordsOf('12345', [], 0), []);
});

test('weights: summed over the tokens of the one looked at, averaged over those that looked', () => {
  const source = cutTokens('a| b|c'); // words a, bc
  const target = cutTokens('x|y| z'); // words xy, z
  const rows = [
    [0.5, 0.2, 0.2, 0.1],
    [0.1, 0.4, 0.3, 0.2],
    [0.7, 0, 0.1, 0.2],
    [0, 0, 0, 1],
  ];
  const sentence = {
    source: /** @type {[number, number]} */ ([0, 4]),
    target: /** @type {[number, number]} */ ([0, 4]),
    sourceTokens: source,
    targetTokens: target,
    alignment: new Float32Array(rows.flat()),
    score: 0,
  };
  const words = new Words('a bc', { text: 'xy z', sentences: [sentence] });
  const near = (/** @type {import('../../www/words.js').Weighed[]} */ list) =>
    list.map(({ word, weight }) => [word.range, Math.round(weight * 1e6) / 1e6]);
  const [xy, z] = words.target;
  const [a] = words.source;
  assert(xy !== undefined && z !== undefined && a !== undefined);
  // xy looks at a by (0.5 + 0.1) / 2 and at bc by ((0.2 + 0.2) + (0.4 + 0.3)) / 2; z at a by 0.7, at bc by 0.1.
  assert.deepEqual(near(words.across('target', xy)), [
    [[2, 4], 0.55],
    [[0, 1], 0.3],
  ]);
  assert.deepEqual(near(words.across('source', a)), [
    [[3, 4], 0.7],
    [[0, 2], 0.3],
  ]);
});

/**
 * What is lit on a side: the text under each box, and its weight, in reading order.
 * @param {import('playwright-core').Page} page @param {'source' | 'target'} side
 */
function lit(page, side) {
  return page.evaluate((name) => {
    const text = document.getElementById(name === 'source' ? 'mirror' : 'target')?.firstChild;
    if (!(text instanceof Text)) throw new Error('no text');
    const words = [...text.data.matchAll(/[\p{L}\p{N}]+|[^\s\p{L}\p{N}]+/gu)].map((found) => {
      const range = document.createRange();
      range.setStart(text, found.index);
      range.setEnd(text, found.index + found[0].length);
      return { word: found[0], box: range.getBoundingClientRect() };
    });
    return [...document.querySelectorAll(`#${name}-marks span`)].map((mark) => {
      const { left, right, top, height } = mark.getBoundingClientRect();
      const under = words.filter(
        ({ box }) =>
          box.left >= left - 1 &&
          box.right <= right + 1 &&
          Math.abs(box.top + box.height / 2 - top - height / 2) < 4,
      );
      return {
        word: under.map(({ word }) => word).join(''),
        weight: Number(mark instanceof HTMLElement ? mark.dataset['weight'] : NaN),
        chosen: mark.className === 'chosen',
      };
    });
  }, side);
}

/**
 * The weight between each source word and each target word, by hand from the package's tokens and alignment.
 * @param {import('playwright-core').Page} page @param {string} text One sentence.
 */
async function weights(page, text) {
  const { translation, sentence } = await page.evaluate(async (input) => {
    const { configure, Translator } = await import(new URL('/pkg/dist/index.js', location.href).href);
    configure({ modelBase: '/models/' });
    const translator = await Translator.create({ sourceLanguage: 'en', targetLanguage: 'pt' });
    const result = await translator.translateDetailed(input);
    const [first] = result.sentences;
    return { translation: result.text, sentence: { ...first, alignment: [...first.alignment] } };
  }, text);
  /** @param {string} side @param {import('../../pkg/dist/index.js').Token[]} tokens */
  const words = (side, tokens) =>
    [...side.matchAll(/[\p{L}\p{N}]+/gu)].map((found) => ({
      word: found[0],
      place: /** @type {const} */ ([found.index, found.index + found[0].length]),
      tokens: [...tokens.entries()].filter(
        ([, { range }]) => range[1] > found.index && range[1] <= found.index + found[0].length,
      ),
    }));
  const columns = sentence.sourceTokens.length + 1;
  return words(translation, sentence.targetTokens).map((target) => ({
    word: target.word,
    place: target.place,
    sources: words(text, sentence.sourceTokens).map((source) => {
      let sum = 0;
      for (const [row] of target.tokens) {
        for (const [column] of source.tokens) sum += sentence.alignment[row * columns + column];
      }
      return { word: source.word, place: source.place, weight: sum / target.tokens.length };
    }),
  }));
}

/** @param {import('playwright-core').Page} page @param {string} id @param {readonly [number, number]} place */
function middleOf(page, id, place) {
  return page.evaluate(
    ([name, [start, end]]) => {
      const text = document.getElementById(name)?.firstChild;
      if (!(text instanceof Text)) throw new Error('no text');
      const range = document.createRange();
      range.setStart(text, start);
      range.setEnd(text, end);
      const { x, y, width, height } = range.getBoundingClientRect();
      return { x: x + width / 2, y: y + height / 2 };
    },
    /** @type {const} */ ([id, place]),
  );
}

test('pointing at a word lights up the words it looked at, by weight, and the other way round', async () => {
  const text = 'The children opened the old wooden door yesterday.';
  const { page, source, done, close, problems } = await open();
  await page.goto(`${server().origin}/`);
  await source.fill(text);
  await done();
  const expected = await weights(page, text);
  for (const { word, place, sources } of expected) {
    const { x, y } = await middleOf(page, 'target', place);
    await page.mouse.move(x, y);
    await page.waitForFunction(() => document.querySelectorAll('#target-marks .chosen').length > 0);
    assert.deepEqual(
      (await lit(page, 'target')).map((mark) => mark.word),
      [word],
    );
    const marks = (await lit(page, 'source')).filter((mark) => /\p{L}/u.test(mark.word));
    const wanted = sources.filter(({ weight }) => weight >= 0.04).map(({ word: name }) => name);
    assert.deepEqual(marks.map((mark) => mark.word).toSorted(), wanted.toSorted(), word);
    for (const mark of marks) {
      const { weight } = sources.find(({ word: name }) => name === mark.word) ?? { weight: NaN };
      assert(
        Math.abs(mark.weight - weight) < 0.001,
        `${word} looks at ${mark.word}: ${mark.weight}, ${weight}`,
      );
    }
    await page.mouse.move(2, 2);
    await page.waitForFunction(() => document.querySelectorAll('.marks span').length === 0);
  }
  // By hand: the translation of "door" looks at "door" before all else.
  const door = expected.find(({ word }) => word === 'porta');
  assert.equal(door?.sources.toSorted((a, b) => b.weight - a.weight)[0]?.word, 'door');

  for (const { word, place } of expected[0]?.sources.slice(1, 2) ?? []) {
    const { x, y } = await middleOf(page, 'mirror', place);
    await page.mouse.move(x, y);
    await page.waitForFunction(() => document.querySelectorAll('#source-marks .chosen').length > 0);
    const marks = (await lit(page, 'target')).filter((mark) => /\p{L}/u.test(mark.word));
    const wanted = expected.flatMap((one) => {
      const { weight } = one.sources.find(({ word: name }) => name === word) ?? { weight: 0 };
      return weight >= 0.04 ? [{ word: one.word, weight }] : [];
    });
    assert.deepEqual(marks.map((mark) => mark.word).toSorted(), wanted.map((one) => one.word).toSorted());
  }
  // What is typed takes the lights away: they belonged to another text.
  await source.press('End');
  await source.pressSequentially(' Yes');
  await page.waitForFunction(() => document.querySelectorAll('.marks span').length === 0);
  assert.deepEqual(problems, []);
  await close();
});

test('the keyboard moves from word to word and says what each looked at; a tap does as well', async () => {
  const text = 'The cat sleeps on the warm stones.';
  const { page, source, target, done, close } = await open({
    hasTouch: true,
    viewport: { width: 390, height: 844 },
  });
  await page.goto(`${server().origin}/`);
  await source.fill(text);
  await done();
  const expected = await weights(page, text);
  const voice = page.locator('#voice');
  await target.focus();
  for (const { word, sources } of expected) {
    await page.keyboard.press('ArrowRight');
    assert.equal((await lit(page, 'target')).map((mark) => mark.word).join(), word);
    const best = sources.toSorted((a, b) => b.weight - a.weight)[0];
    const said = (await voice.textContent()) ?? '';
    assert(said.startsWith(`${word} looks at: ${best?.word} `), said);
    assert(Math.abs(Number(/ (\d\.\d\d)/.exec(said)?.[1]) - (best?.weight ?? NaN)) < 0.006, said);
  }
  await page.keyboard.press('Home');
  assert.deepEqual(
    (await lit(page, 'target')).map((mark) => mark.word),
    [expected[0]?.word],
  );
  await page.keyboard.press('Escape');
  assert.deepEqual([await lit(page, 'target'), await voice.textContent()], [[], '']);
  // In the field, the word that the caret is in.
  await source.focus();
  await page.keyboard.press('Control+Home');
  for (let step = 0; step < 'The c'.length; step++) await page.keyboard.press('ArrowRight');
  assert.deepEqual(
    (await lit(page, 'source')).map((mark) => mark.word),
    ['cat'],
  );
  assert((await lit(page, 'target')).some((mark) => mark.word === 'gato' && mark.weight > 0.5));
  const last = expected.at(-1);
  const { x, y } = await middleOf(page, 'target', last?.place ?? [0, 1]);
  await page.touchscreen.tap(x, y);
  await page.waitForFunction(() => document.querySelectorAll('#target-marks .chosen').length > 0);
  assert.deepEqual(
    (await lit(page, 'target')).map((mark) => mark.word),
    [last?.word],
  );
  await close();
});
