// What no sentence reaches over: line breaks, but for what pairs (brackets, back-ticks, braces, tags).

/** What always ends a sentence. */
export const LINE_BREAK = /[\n\t\r\v\f\u0085\u2028\u2029]/u;

/** Whether everything in `text` that pairs (brackets, back-ticks, braces, tags) does so within its line. */
export function isContained(text: string): boolean {
  if (!/[`{<([（［]/u.test(text)) return true;
  return text.split(LINE_BREAK).every(isContainedLine);
}

function isContainedLine(line: string): boolean {
  const ticks = line.match(/`+/gu) ?? [];
  if (ticks.length > 0) {
    return (
      ticks.length % 2 === 0 && ticks.every((run) => run.length === 1) && !/[{}<>()[\]（）［］]/u.test(line)
    );
  }
  if (line.includes('](') || line.includes('<!--')) return false;
  if (/<[^>]*(?:<|$)/u.test(line)) return false;
  return closes(line, '([（［', ')]）］') && closes(line, '{', '}');
}

/** Whether each of the openers is closed again; what closes without having been opened counts for nothing. */
function closes(line: string, openers: string, closers: string): boolean {
  let depth = 0;
  for (const character of line) {
    if (openers.includes(character)) depth++;
    else if (closers.includes(character) && depth > 0) depth--;
  }
  return depth === 0;
}
