// Figures as text.

/** Rows of cells in columns as wide as their widest cell; `right`: numbers of the columns that are set to the right. */
export function table(rows, right = []) {
  const widths = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) {
      widths[column] = Math.max(widths[column] ?? 0, cell.length);
    }
  }
  const set = (cell, column) =>
    right.includes(column) ? cell.padStart(widths[column]) : cell.padEnd(widths[column]);
  return rows.map((row) => row.map(set).join('   ').trimEnd()).join('\n');
}

/** A spread as "median (least, most)". */
export function range({ median, min, max }, digits) {
  return `${median.toFixed(digits)} (${min.toFixed(digits)}, ${max.toFixed(digits)})`;
}

/** Bytes in units of 1000, as networks count. */
export function kilobytes(bytes) {
  return `${(bytes / 1000).toFixed(0)} kB`;
}

export function megabytes(bytes) {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
