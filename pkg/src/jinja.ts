// Chat templates are Jinja, with what transformers gives them. The library is bundled into this script, which is fetched
// only for a model with a template.

import { Environment, Interpreter, parse, tokenize } from '@huggingface/jinja';

/** What fills a template in. */
export type Fill = (values: Record<string, unknown>) => string;

/** A template says that it does not take what it was given. */
export class Refused extends Error {}

/** Reads a template; blocks take the line's end after them and the space before them along, as in transformers. */
export function compile(template: string): Fill {
  const program = parse(tokenize(template, { lstrip_blocks: true, trim_blocks: true }));
  return (values) => {
    const environment = new Environment();
    for (const [name, value] of Object.entries({ ...GLOBALS, ...values })) environment.set(name, value);
    const written: unknown = new Interpreter(environment).run(program).value;
    return typeof written === 'string' ? written : '';
  };
}

const GLOBALS = {
  true: true,
  True: true,
  false: false,
  False: false,
  none: null,
  None: null,
  range,
  strftime_now: (format: string) => strftime(new Date(), format),
  raise_exception: (message: unknown) => {
    throw new Refused(String(message));
  },
};

/** Longest range, as in transformers, whose templates run in Jinja's sandbox. */
const MAX_RANGE = 100_000;

function range(first: number, last?: number, step = 1): number[] {
  const [start, stop] = last === undefined ? [0, first] : [first, last];
  if (step === 0) throw new Error('range() with a step of 0');
  const length = Math.max(Math.ceil((stop - start) / step), 0);
  if (length > MAX_RANGE) throw new Error(`range() of more than ${MAX_RANGE} numbers`);
  return Array.from({ length }, (_, place) => start + place * step);
}

const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
);
const DAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');

function padded(value: number): string {
  return String(value).padStart(2, '0');
}

/** A date as Python writes it, whose names are English wherever the page is. */
function strftime(date: Date, format: string): string {
  const [month = '', day = ''] = [MONTHS[date.getMonth()], DAYS[date.getDay()]];
  const written: Record<string, string> = {
    Y: String(date.getFullYear()),
    y: padded(date.getFullYear() % 100),
    m: padded(date.getMonth() + 1),
    d: padded(date.getDate()),
    B: month,
    b: month.slice(0, 3),
    A: day,
    a: day.slice(0, 3),
    H: padded(date.getHours()),
    I: padded(date.getHours() % 12 === 0 ? 12 : date.getHours() % 12),
    p: date.getHours() < 12 ? 'AM' : 'PM',
    M: padded(date.getMinutes()),
    S: padded(date.getSeconds()),
    '%': '%',
  };
  return format.replace(/%(.)/g, (whole, letter: string) => written[letter] ?? whole);
}
