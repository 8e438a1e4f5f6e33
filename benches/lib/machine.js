// What a figure was measured on, and whether the machine had anything else to do meanwhile.

import { readFile } from 'node:fs/promises';
import os from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';

/** CPUs' worth of other work above which times are not to be trusted. */
export const BUSY = 0.25;

/** Facts about the machine and the browser. */
export function deviceFacts(browser) {
  const [cpu] = os.cpus();
  return {
    cpu: cpu?.model ?? 'unknown',
    cores: os.cpus().length,
    memoryBytes: os.totalmem(),
    system: `${os.type()} ${os.release()} ${os.arch()}`,
    browser: `Chromium ${browser.version()}`,
    node: process.version,
  };
}

/** CPUs' worth of work done on the whole machine in the next `milliseconds`, time stolen by a hypervisor included. */
export async function load(milliseconds) {
  const before = await cpuTimes();
  await pause(milliseconds);
  const after = await cpuTimes();
  const all = after.all - before.all;
  return all > 0 ? ((after.busy - before.busy) / all) * os.cpus().length : 0;
}

/** Waits until the machine has been quiet for some seconds, or `minutes` have passed. */
export async function waitForQuiet(minutes) {
  const end = Date.now() + minutes * 60_000;
  for (;;) {
    const found = await load(5000);
    if (found <= BUSY || Date.now() > end) return found;
    console.error(`waiting: other work takes ${found.toFixed(1)} CPUs`);
    await pause(Math.min(15_000, Math.max(0, end - Date.now())));
  }
}

/** Says on the error stream how long a run took: on a GPU's software there are minutes between two lines. */
export function tell({ name }, turn, milliseconds, cpuSeconds) {
  const [clock, cpu] = [milliseconds / 1000, cpuSeconds].map((seconds) => seconds.toFixed(1));
  console.error(`${name}, ${turn === 0 ? 'to warm' : `run ${turn}`}: ${clock} s, ${cpu} CPU s`);
}

/** Ticks since the start of the machine, from Linux's /proc/stat; elsewhere Node's own count. */
async function cpuTimes() {
  const text = await readFile('/proc/stat', 'utf8').catch(() => undefined);
  if (text === undefined) {
    const times = os.cpus().map((cpu) => cpu.times);
    const sum = (pick) => times.reduce((total, time) => total + pick(time), 0);
    const busy = sum(({ user, nice, sys, irq }) => user + nice + sys + irq);
    return { busy, all: busy + sum(({ idle }) => idle) };
  }
  // user nice system idle iowait irq softirq steal; guest time is within user time.
  const ticks = text.slice(0, text.indexOf('\n')).split(/\s+/u).slice(1, 9).map(Number);
  const all = ticks.reduce((total, tick) => total + tick, 0);
  return { busy: all - ticks[3] - ticks[4], all };
}
