// What the command says while it works: lines, and on a terminal a percentage that is written over.

export interface Console {
  /** A line of the result. */
  say(line: string): void;
  /** Bytes of a file so far, of `total` where that is known. */
  progress(name: string, bytes: number, total: number | undefined): void;
}

/** Lines to stdout; progress to stderr, where that is a terminal. */
export function terminal(): Console {
  const { stderr, stdout } = process;
  let shown = '';
  const clear = (): void => {
    if (shown !== '') stderr.write('\r\x1b[K');
    shown = '';
  };
  return {
    say(line) {
      clear();
      stdout.write(`${line}\n`);
    },
    progress(name, bytes, total) {
      if (!stderr.isTTY) return;
      const far =
        total === undefined ? `${(bytes / 1e6).toFixed(1)} MB` : `${Math.floor((bytes / total) * 100)} %`;
      const line = `${name} ${far}`;
      if (line === shown) return;
      stderr.write(`\r\x1b[K${line}`);
      shown = line;
    },
  };
}
