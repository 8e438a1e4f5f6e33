// How a page looks: contrast, what jumps, what sticks out.

import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where what is left to look at lies. @param {string} name */
export function screenshot(name) {
  const folder = fileURLToPath(new URL('../../target/screenshots/', import.meta.url));
  mkdirSync(folder, { recursive: true });
  return join(folder, `${name}.png`);
}

/**
 * In light and in dark: nothing sticks out or is faint, and a screenshot is left.
 * @param {import('playwright-core').Page} page @param {string} name Of the screenshots.
 * @param {import('playwright-core').PageScreenshotOptions} [options] Of the screenshots.
 */
export async function lookAt(page, name, options = {}) {
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    await page.emulateMedia({ colorScheme });
    await settled(page);
    await page.screenshot({ ...options, path: screenshot(`${name}-${colorScheme}`) });
    await checkLooks(page, `${name} in ${colorScheme}`);
  }
}

/** What has changed is painted, and whatever moves and has an end is there. @param {import('playwright-core').Page} page */
async function settled(page) {
  await frames(page);
  await page.evaluate(() =>
    Promise.all(
      document
        .getAnimations()
        .filter(({ effect }) => effect?.getComputedTiming().iterations !== Infinity)
        .map(({ finished }) => finished),
    ),
  );
  await frames(page);
}

/** Nothing has jumped. @param {import('playwright-core').Page} page @param {string} what */
export async function checkShifts(page, what) {
  await settled(page);
  const shifts = await page.evaluate(() => {
    const observer = new PerformanceObserver(() => undefined);
    observer.observe({ type: 'layout-shift', buffered: true });
    return observer.takeRecords().map((entry) => {
      const { value = NaN, sources = [] } =
        /** @type {{ value?: number, sources?: { node: Node | null }[] }} */ (/** @type {unknown} */ (entry));
      return {
        value,
        moved: sources.map(({ node }) => (node instanceof Element ? node.outerHTML.slice(0, 80) : '')),
      };
    });
  });
  const sum = shifts.reduce((all, { value }) => all + value, 0);
  assert(sum < 0.01, `layout shift ${sum}: ${what}: ${JSON.stringify(shifts)}`);
}

/** Nothing sticks out or is faint. @param {import('playwright-core').Page} page @param {string} what */
async function checkLooks(page, what) {
  const overflow = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  assert.equal(overflow, 0, `overflow: ${what}`);
  assert.deepEqual(await faint(page), [], `text with less contrast than 4.5 to 1: ${what}`);
}

/** @param {string} color As a browser computes it: `rgb(…)` of 255, or of a mixture `color(srgb …)` of 1. */
function channels(color) {
  const numbers = (color.match(/[\d.]+(e-\d+)?/g) ?? []).map(Number);
  return color.startsWith('color(')
    ? numbers
    : numbers.map((value, place) => (place < 3 ? value / 255 : value));
}

/** @param {string} color */
function luminance(color) {
  const [red = 0, green = 0, blue = 0] = channels(color)
    .slice(0, 3)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Elements with text of their own that stands out too little from what is behind it. @param {import('playwright-core').Page} page */
async function faint(page) {
  const texts = await page.evaluate(() =>
    [...document.querySelectorAll('body *')].flatMap((element) => {
      const own = [...element.childNodes].some((node) => node instanceof Text && node.data.trim() !== '');
      const style = getComputedStyle(element);
      if (!own || style.visibility === 'hidden' || element.getClientRects().length === 0) return [];
      const behind = [];
      for (let at = /** @type {Element | null} */ (element); at !== null; at = at.parentElement) {
        behind.push(getComputedStyle(at).backgroundColor);
      }
      return [
        { name: `${element.tagName} ${element.id} ${element.textContent}`, color: style.color, behind },
      ];
    }),
  );
  return texts.flatMap(({ name, color, behind }) => {
    const ground = behind.find((one) => (channels(one)[3] ?? 1) === 1) ?? 'rgb(255, 255, 255)';
    const [more = NaN, less = NaN] = [luminance(color), luminance(ground)].toSorted((a, b) => b - a);
    const ratio = (more + 0.05) / (less + 0.05);
    return ratio < 4.5 ? [`${name}: ${ratio.toFixed(2)}`] : [];
  });
}

/** What has changed is painted. @param {import('playwright-core').Page} page */
export function frames(page) {
  return page.evaluate(async () => {
    for (let frame = 0; frame < 2; frame++) await new Promise((resolve) => requestAnimationFrame(resolve));
  });
}
