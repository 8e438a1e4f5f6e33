// The search of the demo page for tests: texts, queries, and what all-MiniLM-L6-v2 makes of them.

/** @typedef {import('playwright-core').Page} Page */

/** Five texts of two sentences. The tests' own. */
export const PASSAGES = [
  'The ferry leaves at seven in the morning and comes back before dark. Bring a warm coat.',
  'Bees are calm on a sunny day at noon. Open the hive slowly, and never stand before its entrance.',
  'Bread is kept in a linen bag. In plastic it grows mouldy within days.',
  'A violin has to be tuned again after each journey. Damp air makes its strings slack.',
  'Our accountant needs all receipts by March. Without them the tax office will estimate what we owe.',
];

/**
 * Cosines by transformers, in float32: of each query with the passages, and with the two sentences of the one that it
 * means.
 * @type {readonly { query: string, cosines: readonly number[], sentences: readonly number[] }[]}
 */
export const QUERIES = [
  {
    query: 'when does the boat sail',
    cosines: [0.43, 0.075, -0.02, 0.233, 0.052],
    sentences: [0.442, 0.061],
  },
  { query: 'insects that sting', cosines: [0.051, 0.382, -0.016, 0.206, -0.031], sentences: [0.403, 0.16] },
  {
    query: 'preventing fungus on a loaf',
    cosines: [0.034, 0.099, 0.571, -0.086, 0.061],
    sentences: [0.465, 0.364],
  },
  {
    query: 'an instrument out of pitch',
    cosines: [0.002, -0.005, 0.121, 0.4, -0.001],
    sentences: [0.4, 0.369],
  },
  {
    query: 'papers for the revenue service',
    cosines: [0.023, -0.091, 0.074, -0.119, 0.462],
    sentences: [0.536, 0.351],
  },
];

/** What int8 may change of a cosine. */
export const TOLERANCE = 0.03;

/** @param {string} name @param {string | Buffer} text */
export const fileOf = (name, text) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });

/** @param {ReturnType<typeof import('./demo.mjs').demo>} page */
export async function openSearchOf({ open, server }) {
  const visit = await open();
  await visit.page.goto(`${server().origin}/#search`);
  return { ...visit, ...searchOf(visit.page) };
}

/** @param {Page} page */
export function searchOf(page) {
  const query = page.getByRole('searchbox', { name: 'What are you looking for?' });
  /** What was typed is searched, and all of it is there. @param {string} text @param {number} since By the page's clock. */
  const searched = (text, since) =>
    page.waitForFunction(
      ([wanted, start]) =>
        performance
          .getEntriesByName('multihead:search')
          .some(
            (entry) =>
              entry instanceof PerformanceMeasure &&
              entry.startTime >= start &&
              wanted === /** @type {{ query: string }} */ (entry.detail).query,
          ),
      /** @type {const} */ ([text, since]),
    );
  return {
    query,
    searched,
    files: page.locator('#text-files'),
    alert: page.getByRole('alert'),
    /** As many passages are read, and nothing is under way. */
    read: (/** @type {number} */ count) =>
      page
        .locator('#read-status')
        .filter({ hasText: new RegExp(`^${count.toLocaleString('en')} passages? read`) })
        .waitFor(),
    /** What is found, the nearest first, once all of it is there. */
    find: async (/** @type {string} */ text) => {
      const since = await page.evaluate(() => performance.now());
      await query.fill(text);
      await searched(text, since);
      return hitsOf(page);
    },
  };
}

/** @param {Page} page */
export const hitsOf = (page) =>
  page.locator('#hits .hit').evaluateAll((all) =>
    all.map((hit) => ({
      passage: hit.querySelector('.passage')?.textContent ?? '',
      best: hit.querySelector('mark')?.textContent ?? '',
      source: hit.querySelector('.name')?.textContent ?? '',
      place: hit.querySelector('.where .quiet')?.textContent ?? '',
      around: [...hit.querySelectorAll('.around')].map(({ textContent }) => textContent),
      score: Number(hit.querySelector('.score')?.lastChild?.textContent),
      tagged: hit.querySelector('.tag') !== null,
    })),
  );
