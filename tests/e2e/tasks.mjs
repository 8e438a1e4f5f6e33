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
  // The first function that the driver has evaluated takes a script of its own with it, which is no work of the page.
  await page.waitForFunction(() => true);
  await browser.startTracing(page, {
    categories: ['blink.user_timing', 'disabled-by-default-devtools.timeline'],
  });
  await work();
  const trace = /** @type {{ traceEvents: TraceEvent[] }} */ (
    JSON.parse((await browser.stopTracing()).toString())
  );
  return tasksIn(trace.traceEvents, measure);
}

/**
 * As {@link tasksSince}, from the events of a trace. One that does not say what its tasks took of the processor is an
 * error: the time of the clock depends on what else the machine does. A virtual machine may count more of the processor
 * for a task than passed by the clock: then it is the clock's.
 * @param {TraceEvent[]} events @param {string} measure
 */
export function tasksIn(events, measure) {
  const begin = events.findLast(({ name, ph }) => name === measure && ph === 'b');
  if (begin === undefined) throw new Error(`no measure ${measure} in the trace`);
  const times = events
    .filter(
      ({ name, pid, tid, ts }) =>
        name === 'RunTask' && pid === begin.pid && tid === begin.tid && ts >= begin.ts,
    )
    // The task in which the trace ended has none.
    .flatMap(({ dur, tdur }) => (tdur === undefined ? [] : [Math.min(tdur, dur ?? tdur) / 1000]));
  if (times.length === 0)
    throw new Error(`no task after ${measure} in the trace has a time of the processor`);
  return times;
}
