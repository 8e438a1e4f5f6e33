// The tasks of a page's main thread, by the processor's time that each took.

/**
 * What a trace says of one event: times in microseconds; `dur` of the clock, `tdur` of the processor.
 * @typedef {{ name: string, ph: string, ts: number, pid: number, tid: number, dur?: number, tdur?: number }} TraceEvent
 */

/**
 * Does the work, and returns the milliseconds of each task of the page from the beginning of the last measure of that
 * name on. They are the processor's: on a machine that is busy with something else a task lasts longer and costs the
 * same.
 * @param {import('playwright-core').Page} page @param {string} measure @param {() => Promise<unknown>} work
 */
export async function tasksSince(page, measure, work) {
  const browser = page.context().browser();
  if (browser === null) throw new Error('the page has no browser of its own');
  await browser.startTracing(page, {
    categories: ['blink.user_timing', 'disabled-by-default-devtools.timeline'],
  });
  await work();
  const trace = /** @type {{ traceEvents: TraceEvent[] }} */ (
    JSON.parse((await browser.stopTracing()).toString())
  );
  const begin = trace.traceEvents.findLast(({ name, ph }) => name === measure && ph === 'b');
  if (begin === undefined) throw new Error(`no measure ${measure} in the trace`);
  return trace.traceEvents
    .filter(
      ({ name, pid, tid, ts }) =>
        name === 'RunTask' && pid === begin.pid && tid === begin.tid && ts >= begin.ts,
    )
    .flatMap(({ dur, tdur }) => {
      const time = tdur ?? dur;
      return time === undefined ? [] : [time / 1000]; // the task in which the trace ended has none
    });
}
