// The search of the demo page in Chromium, as a person uses it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { demo } from './demo.mjs';
import { checkShifts, frames, lookAt } from './looks.mjs';
import { fileOf, openSearchOf, PASSAGES, QUERIES, searchOf, TOLERANCE } from './searching.mjs';
import { tasksSince } from './tasks.mjs';

const search = demo();
const { open, server } = search;

const openSearch = () => openSearchOf(search);

/** Passages of which no two are the same. @param {number} count */
const many = (count) =>
  Array.from(
    { length: count },
    (_, place) => `Parcel ${place} waits on shelf ${place % 97} of hall ${place % 7}.`,
  );

test('a query finds the passage that it means first, by none of its words; scores are those of transformers', async () => {
  const start = server().state.requests.length;
  const { page, files, read, find, searched, problems, close } = await openSearch();
  await page.getByText('91.3 MB, to download once').waitFor();
  assert.deepEqual(
    server()
      .state.requests.slice(start)
      .filter((path) => /all-minilm|encoder/.test(path)),
    [],
    'nothing of the model is fetched before there is something to read',
  );
  await files.setInputFiles([
    fileOf('travel.md', `# Boats\n\n${PASSAGES[0]}\n\n# The garden\n\n${PASSAGES[1]}\n`),
    fileOf('house.txt', `${PASSAGES[2]}\n\n${PASSAGES[3]}\n\n${PASSAGES[4]}\n`),
  ]);
  await read(5);
  for (const [place, { query, cosines, sentences }] of QUERIES.entries()) {
    const hits = await find(query);
    const [first] = hits;
    assert(first !== undefined);
    const right = PASSAGES[place] ?? '';
    assert.equal(first.passage, right, query);
    assert(first.tagged && hits.slice(1).every(({ tagged }) => !tagged));
    for (const word of query.split(' ').filter(({ length }) => length > 3))
      assert(!right.includes(word), word);
    assert.equal(hits.length, 5);
    for (const { passage, score } of hits) {
      const cosine = cosines[PASSAGES.indexOf(passage)] ?? NaN;
      assert(Math.abs(score - cosine) < TOLERANCE, `${query}: ${passage}: ${score}, not ${cosine}`);
    }
    const best = sentences.indexOf(Math.max(...sentences));
    assert.equal(first.best, right.split(/(?<=\.) /)[best]);
  }
  const [first] = await find('insects that sting');
  assert.deepEqual(
    [first?.source, first?.place, first?.around],
    ['travel.md', 'The garden, line 7', [PASSAGES[0]]],
  );
  assert.match((await page.locator('#search-engine').textContent()) ?? '', /int8 on the CPU .* [\d.]+ MB$/);
  assert.match(
    (await page.locator('#search-speed').textContent()) ?? '',
    /passages: [\d.]+ a second; the last query: \d+ ms$/,
  );
  // What is typed last counts, whatever was under way.
  await page.locator('#query').press('End');
  await page.locator('#query').pressSequentially(' in a hive', { delay: 5 });
  await searched('insects that sting in a hive', 0);
  assert.deepEqual(problems, []);

  // Text that would be markup is none.
  await files.setInputFiles([fileOf('odd.txt', 'Here stands <img src=x onerror="problem()"> as a text.')]);
  await read(6);
  const [odd] = await find('markup of a picture');
  assert.match(odd?.passage ?? '', /<img src=x/);
  assert.deepEqual(problems, []);
  await page.getByRole('button', { name: 'Unload' }).click();
  assert.equal(
    (await find('when does the boat sail'))[0]?.passage,
    PASSAGES[0],
    'it is loaded again when it is needed',
  );
  await close();
});

test('reading is stopped and goes on; what is read can be searched meanwhile', async () => {
  const { page, files, read, find, close } = await openSearch();
  const lines = [...PASSAGES, ...many(1000)];
  await files.setInputFiles([fileOf('long.txt', lines.join('\n\n'))]);
  await page.getByText(/^\d+ of 1,005 passages read/).waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  const goOn = page.getByRole('button', { name: 'Go on' });
  await goOn.waitFor();
  const told = (await page.locator('#read-status').textContent()) ?? '';
  const [, done = ''] = /^Stopped: (\d+) of 1,005 passages read/.exec(told) ?? [];
  assert(Number(done) >= PASSAGES.length && Number(done) < 1005, told);
  assert.equal((await find('when does the boat sail'))[0]?.passage, PASSAGES[0]);
  assert.match(
    (await page.locator('#search-status').textContent()) ?? '',
    new RegExp(`^The 10 nearest of ${done} passages`),
  );
  assert.equal(await page.locator('#read-status').textContent(), told, 'nothing more is read');
  await goOn.click();
  // A query goes before what is still to be read.
  assert.equal((await find('preventing fungus on a loaf'))[0]?.passage, PASSAGES[2]);
  await read(1005);
  assert(await goOn.isHidden());
  await close();
});

test('texts come by drop and paste; what is none is said and fails no other; one can be removed', async () => {
  const { page, files, read, find, alert, close } = await openSearch();
  const dropped = await page.evaluateHandle(([first = '', second = '']) => {
    const data = new DataTransfer();
    data.items.add(new File([first], 'first.txt'));
    data.items.add(new File([new Uint8Array([137, 80, 78, 71, 0, 0, 255])], 'picture.png'));
    data.items.add(new File([second], 'second.md'));
    return data;
  }, PASSAGES);
  await page.locator('#hits').dispatchEvent('dragover', { dataTransfer: dropped });
  await page.locator('#search-panel.dropping').waitFor();
  await page.locator('#hits').dispatchEvent('drop', { dataTransfer: dropped });
  await alert.getByText(/picture\.png: this is no text in UTF-8/).waitFor();
  await read(2);
  assert.equal(await page.locator('.dropping').count(), 0);
  assert.deepEqual(await page.locator('#texts .name').allTextContents(), ['first.txt', 'second.md']);

  const words = await page.evaluateHandle((text) => {
    const data = new DataTransfer();
    data.setData('text/plain', text);
    return data;
  }, PASSAGES[2] ?? '');
  await page.locator('#hits').dispatchEvent('drop', { dataTransfer: words });
  await read(3);
  await page.getByText('Paste a text').click();
  const field = page.getByRole('textbox', { name: 'Text to search in' });
  for (const [count, text] of [PASSAGES[3], PASSAGES[4]].entries()) {
    await field.fill(text ?? '');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await read(4 + count);
  }
  const names = ['first.txt', 'second.md', 'Dropped text', 'Pasted text', 'Pasted text 2'];
  assert.deepEqual(await page.locator('#texts .name').allTextContents(), names);
  for (const [place, { query }] of QUERIES.entries()) {
    const [first] = await find(query);
    assert.deepEqual([first?.passage, first?.source], [PASSAGES[place], names[place]]);
  }
  await page.getByRole('button', { name: 'Remove second.md' }).click();
  await read(4);
  await page.waitForFunction(() => document.querySelectorAll('#hits .hit').length === 4);
  assert(!(await page.locator('#hits').textContent())?.includes('Bees'));
  // The same name is the same text, in its newest version.
  await files.setInputFiles([fileOf('first.txt', PASSAGES[1] ?? '')]);
  await read(4);
  assert.equal((await find('insects that sting in summer'))[0]?.source, 'first.txt');
  await files.setInputFiles([fileOf('empty.txt', ' \n\n ')]);
  await alert.getByText(/empty\.txt: there is no text in it/).waitFor();
  await close();
});

test('the map has a point a passage; pointer and keys go from one to the other and lead to it', async () => {
  const { page, files, read, find, close } = await openSearch();
  const others = many(60);
  await files.setInputFiles([
    fileOf('house.txt', PASSAGES.join('\n\n')),
    fileOf('parcels.txt', others.join('\n\n')),
  ]);
  await read(65);
  const places = () =>
    page
      .locator('#map .dots path')
      .evaluateAll((all) =>
        all.map((path) =>
          [...(path.getAttribute('d') ?? '').matchAll(/M(\S+) (\S+)h0/g)].map(([, x, y]) => [
            Number(x),
            Number(y),
          ]),
        ),
      );
  await page.waitForFunction(() => document.querySelectorAll('#map .dots path').length === 2);
  const [own = [], parcels = []] = await places();
  assert.deepEqual([own.length, parcels.length], [5, 60]);
  // What is of one kind lies together: the parcels nearer to their middle than the others to it.
  const middle = [0, 1].map(
    (axis) => parcels.reduce((sum, place) => sum + (place[axis] ?? NaN), 0) / parcels.length,
  );
  const far = (/** @type {number[]} */ [x = NaN, y = NaN]) =>
    Math.hypot(x - (middle[0] ?? NaN), y - (middle[1] ?? NaN));
  assert(Math.max(...parcels.map(far)) < Math.min(...own.map(far)), JSON.stringify({ own, parcels }));
  assert.match((await page.locator('#map-share').textContent()) ?? '', /most: \d+ % of all/);

  assert.equal(await page.locator('#map .cross path').count(), 0);
  await find('insects that sting');
  assert.equal(await page.locator('#map .cross path').count(), 2);
  const rings = (await page.locator('#map .ring path').getAttribute('d')) ?? '';
  assert.equal(rings.match(/M/g)?.length, 10);

  const map = page.getByRole('application', { name: 'Map of the passages' });
  const caption = page.locator('#map-caption');
  /** Where a point is in the window, which scrolls to what is shown. */
  const onScreen = async (/** @type {number[] | undefined} */ [x = NaN, y = NaN] = []) => {
    const box = await map.boundingBox();
    assert(box !== null);
    return /** @type {const} */ ([box.x + (x / 360) * box.width, box.y + (y / 360) * box.width]);
  };
  await page.mouse.move(...(await onScreen(own[3])));
  await caption.getByText('A violin has to be tuned').waitFor();
  await page.mouse.click(...(await onScreen(own[3])));
  // It is among the nearest ten, or else shown by itself.
  const shown = page.locator('#picked:not([hidden]), #hits .hit').filter({ hasText: 'A violin' }).first();
  await page.waitForFunction((one) => document.activeElement === one, await shown.elementHandle());

  await page.locator('#query').focus();
  await page.mouse.move(0, 0);
  while ((await page.evaluate(() => document.activeElement?.getAttribute('role'))) !== 'application')
    await page.keyboard.press('Tab');
  await caption.getByText('house.txt, line 3 Bees are calm').waitFor();
  /** @type {Set<string>} */
  const seen = new Set();
  for (const key of ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown']) {
    await page.keyboard.press('Home');
    for (let press = 0; press < 30; press++) {
      seen.add((await caption.textContent()) ?? '');
      await page.keyboard.press(key);
    }
  }
  assert(seen.size > 8, `${seen.size} passages by the keys`);
  await page.keyboard.press('Home');
  await page.keyboard.press('Enter');
  assert.match(
    (await page.evaluate(() => document.activeElement?.querySelector('.passage')?.textContent)) ?? '',
    /^Bees/,
  );
  // One that is not among the nearest is shown by itself.
  await find('when does the boat sail');
  const found = (await page.locator('#hits').textContent()) ?? '';
  const place = others.findIndex((one) => !found.includes(one));
  await page.mouse.click(...(await onScreen(parcels[place])));
  await page.locator('#picked:focus').waitFor();
  await close();
});

test('no task of the page is long while 2,000 passages are read, mapped and searched', async () => {
  const { page, files, read, find, kept, close } = await openSearch();
  await files.setInputFiles([fileOf('short.txt', PASSAGES.join('\n\n'))]);
  await read(5);
  await kept();
  const text = [...PASSAGES, ...many(1995)].join('\n\n');
  const tasks = await tasksSince(page, 'multihead:read', async () => {
    await files.setInputFiles([fileOf('short.txt', text)]);
    await read(2000);
    await page.waitForFunction(
      () =>
        [...document.querySelectorAll('#map .dots path')]
          .map((path) => path.getAttribute('d'))
          .join('')
          .match(/M/g)?.length === 2000,
    );
    for (const { query } of QUERIES) await find(query);
    await page.mouse.move(640, 300);
    await frames(page);
  });
  const longest = tasks.toSorted((a, b) => b - a).slice(0, 5);
  assert((longest[0] ?? NaN) < 50, `milliseconds of the longest tasks: ${longest.join(', ')}`);
  await close();
});

test('a search that was used goes on without a network, the docs of the page too', async () => {
  const { page, context, query, read, find, kept, problems, close } = await openSearch();
  const examples = async () => {
    await page.getByRole('button', { name: 'Example texts' }).first().click();
    await read(21);
    return find('spots on a mug');
  };
  /** Some of them are read, and what is found is theirs: all would take its time. */
  const docs = async () => {
    await page.getByRole('button', { name: 'Docs of this page', exact: true }).click();
    await page.locator('#texts .name').filter({ hasText: 'pkg/README.md' }).waitFor();
    await page.getByText(/^(3[7-9]|[4-9]\d|\d{3}) of [\d,]+ passages read/).waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('button', { name: 'Go on' }).waitFor();
    const names = await page.locator('#texts .name').allTextContents();
    assert.deepEqual(names.slice(-3), ['README.md', 'ARCHITECTURE.md', 'pkg/README.md']);
    const hits = await find('translation in the browser');
    assert(hits.some(({ source }) => source === 'README.md'));
  };
  const online = await examples();
  assert.equal(online.length, 10);
  await docs();
  await kept();
  server().state.fault = (_, response) => {
    response.destroy();
    return true;
  };
  await context.setOffline(true);
  await page.reload();
  await page.getByText('91.3 MB, kept on this device').waitFor();
  await query.waitFor();
  assert.deepEqual(await examples(), online);
  await docs();
  assert.deepEqual(
    problems.filter((text) => !/Failed to load resource|ERR_INTERNET_DISCONNECTED/.test(text)),
    [],
  );
  await close();
});

test('the example texts have what the example queries mean, and the model reads every passage whole', async () => {
  const { page, find, read, close } = await openSearch();
  await page.getByRole('button', { name: 'Example texts' }).first().click();
  await read(21);
  for (const [query, right] of /** @type {const} */ ([
    ['somebody took my bicycle', /^If your bike is missing/],
    ['spots on a mug', /^Coffee stains/],
    ['can I sleep outdoors', /^Tents are allowed/],
    ['vegetarian meals', /^Ask beforehand who eats no meat/],
  ])) {
    await page.getByRole('button', { name: query }).click();
    const [first] = await find(query);
    assert.match(first?.passage ?? '', right);
    assert(first?.tagged);
  }
  const tokens = await page.evaluate(async () => {
    const at = (/** @type {string} */ path) => new URL(path, location.href).href;
    const { Embedder } = /** @type {typeof multihead} */ (await import(at('/pkg/dist/index.js')));
    const { passagesOf } = await import(at('/passages.js'));
    const embedder = await Embedder.create();
    const long = `${'antidisestablishmentarianism '.repeat(300)}. ${'漢字'.repeat(900)} ${'x1,'.repeat(900)}`;
    const counts = [];
    for (const name of ['docs/README.md', 'docs/ARCHITECTURE.md', 'pkg/README.md', '']) {
      const text = name === '' ? long : await (await fetch(at(`/${name}`))).text();
      for (const passage of await passagesOf(name, text))
        counts.push((await embedder.tokenize(passage.text)).length);
    }
    embedder.destroy();
    return counts;
  });
  assert(tokens.length > 150);
  assert(Math.max(...tokens) <= 256, `${Math.max(...tokens)} tokens`);
  await close();
});

test('looks: nothing jumps, nothing overflows; screenshots are left to look at', async () => {
  for (const width of [1280, 390, 320]) {
    const { page, kept, close } = await open({ viewport: { width, height: width < 400 ? 844 : 800 } });
    const { find, read } = searchOf(page);
    const name = `search-${width}`;
    await page.goto(`${server().origin}/#search`);
    await page.getByText('91.3 MB, to download once').waitFor();
    await lookAt(page, `${name}-before`);
    await page.getByRole('button', { name: 'Example texts' }).first().click();
    await read(21);
    await kept();
    await find('spots on a mug');
    await checkShifts(page, name);
    await lookAt(page, name, { fullPage: true });
    await page.getByText('Paste a text').click();
    await page.locator('#text-files').setInputFiles([fileOf('empty.txt', '')]);
    await page.getByRole('alert').waitFor();
    await lookAt(page, `${name}-open`, { fullPage: true });
    await close();
  }
});
