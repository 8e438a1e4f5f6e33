// The chat of the demo page for tests: its settings, and what the package says to the same.

/** @typedef {import('playwright-core').Page} Page */

/** Each token is the likeliest from now on, and an answer has so many at most. @param {Page} page @param {number} limit */
export async function plainly(page, limit) {
  await page.getByText('Sampling').click();
  for (const [name, value] of [
    ['Temperature', 0],
    ['Top k', 0],
    ['Top p', 1],
    ['Min p', 0],
    ['Repetition penalty', 1],
    ['Longest answer', limit],
  ]) {
    await page.getByLabel(String(name), { exact: true }).fill(String(value));
  }
}

/**
 * The chat, with short answers of the likeliest tokens.
 *
 * @param {ReturnType<typeof import('./demo.mjs').demo>} page @param {number} limit
 */
export async function openChatOf({ open, server }, limit) {
  const visit = await open();
  await visit.page.goto(`${server().origin}/#chat`);
  await plainly(visit.page, limit);
  return visit;
}

/** What the package answers to the same turns, and what it says it took. @param {Page} page @param {string[]} said @param {number} limit */
export function expected(page, said, limit) {
  return page.evaluate(
    async ([turns, maxNewTokens]) => {
      const address = new URL('/pkg/dist/index.js', location.href).href;
      const { LanguageModel } = /** @type {typeof multihead} */ (await import(address));
      const model = await LanguageModel.create({ temperature: 0, topK: 0 });
      const told = [];
      for (const turn of turns) {
        const before = model.contextUsage;
        const promptTokens = await model.measureContextUsage(turn);
        const text = await model.prompt(turn, { maxNewTokens });
        told.push({ text, before, promptTokens, usage: model.contextUsage });
      }
      model.destroy();
      return told;
    },
    /** @type {const} */ ([said, limit]),
  );
}

/** The context meter. @param {Page} page */
export const meter = (page) =>
  page
    .getByRole('meter', { name: 'Context' })
    .evaluate((/** @type {HTMLMeterElement} */ { value, max }) => [value, max]);
