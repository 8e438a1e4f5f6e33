// Answers come late and in any order: only the newest may write to the page.

/**
 * Takes a turn when it is called, and gives what says whether another was taken since.
 * @returns {() => () => boolean}
 */
export function turns() {
  let newest = 0;
  return () => {
    const own = ++newest;
    return () => own !== newest;
  };
}
