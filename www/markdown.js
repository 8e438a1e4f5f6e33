// The blocks of a text: paragraphs, and of Markdown also items, rows of tables and code, without its marks.

/**
 * @typedef {object} Block
 * @property {string} text
 * @property {string} heading That it stands under; empty above the first.
 * @property {number} line Its first, counted from 1.
 * @property {boolean} isCode Whether its lines are kept.
 */

const HEADING = /^ {0,3}#{1,6}\s+(.*?)\s*#*$/;
const FENCE = /^\s*(`{3,}|~{3,})/;
const ITEM = /^\s*(?:[-*+]|\d{1,3}[.)])\s+/;
const ROW = /^\s*\|(.*)\|\s*$/;
const RULE = /^\s*\|?[\s:|-]*-{3,}[\s:|-]*$/;

/** @param {string} name @param {string} text */
export const isMarkdown = (name, text) => /\.(?:md|markdown)$/i.test(name) || /^#{1,6}\s+\S/m.test(text);

/** @param {string} text A whole one. @param {boolean} markdown @returns {Generator<Block>} */
export function* blocksOf(text, markdown) {
  let heading = '';
  /** The fence that ends the code. @type {string | undefined} */
  let fence;
  /** @type {{ lines: string[], line: number } | undefined} */
  let open;
  /** @param {boolean} isCode @returns {Generator<Block>} */
  function* close(isCode) {
    const joined = open?.lines.join(isCode ? '\n' : ' ') ?? '';
    const plain = (markdown && !isCode ? withoutMarks(joined) : joined).trim();
    if (open !== undefined && plain !== '') yield { text: plain, heading, line: open.line, isCode };
    open = undefined;
  }
  /** @param {string} part @param {number} line */
  const add = (part, line) => {
    open ??= { lines: [], line };
    open.lines.push(part);
  };
  let number = 0;
  for (const [whole] of text.matchAll(/[^\n]*(?:\n|$)/g)) {
    number++;
    const line = whole.trimEnd();
    if (fence !== undefined) {
      if (!line.trim().startsWith(fence)) add(line, number);
      else {
        yield* close(true);
        fence = undefined;
      }
      continue;
    }
    const [, mark] = (markdown && FENCE.exec(line)) || [];
    const [, title] = (markdown && HEADING.exec(line)) || [];
    const [, cells] = (markdown && ROW.exec(line)) || [];
    if (mark !== undefined) {
      yield* close(false);
      fence = mark;
    } else if (title !== undefined) {
      yield* close(false);
      heading = withoutMarks(title);
    } else if (line === '' || (markdown && RULE.test(line))) {
      yield* close(false);
    } else if (cells !== undefined) {
      yield* close(false);
      add(cellsOf(cells), number);
      yield* close(false);
    } else {
      const item = markdown ? (ITEM.exec(line)?.[0] ?? '') : '';
      if (item !== '') yield* close(false);
      add(markdown ? line.slice(item.length).replace(/^\s*>\s?/, '') : line, number);
    }
  }
  yield* close(fence !== undefined);
}

/** @param {string} row Without its ends. */
const cellsOf = (row) =>
  row
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim())
    .filter(Boolean)
    .join(' · ');

/** @param {string} text */
const withoutMarks = (text) =>
  text
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/(\*\*|__)(?=\S)(.+?)(?<=\S)\1/g, '$2')
    .replaceAll(/(?<![\w*])\*(?=[^\s*])([^*]+)(?<=[^\s*])\*(?![\w*])/g, '$1')
    .replaceAll(/`+([^`]+)`+/g, '$1')
    .replaceAll(/\s+/g, ' ');
