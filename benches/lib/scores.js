// Translation quality by the sacrebleu package, and the limits that are held.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** BLEU and chrF2 of a file of translations against a file of references. */
export async function score(python, reference, translations) {
  const metrics = ['-m', 'bleu', 'chrf', '-w', '4', '--format', 'json'];
  const { stdout } = await execute(python, ['-m', 'sacrebleu', reference, '-i', translations, ...metrics]);
  const found = JSON.parse(stdout);
  const of = (name) => {
    const metric = found.find((entry) => entry.name === name);
    if (metric === undefined) throw new Error(`sacrebleu gave no ${name}: ${stdout}`);
    return metric;
  };
  const [bleu, chrf2] = [of('BLEU'), of('chrF2')];
  return { bleu: bleu.score, chrf2: chrf2.score, signatures: [bleu.signature, chrf2.signature] };
}

/** Names of the metrics in which `ours` is further below `theirs` than `allowed` says. */
export function tooFarBelow(ours, theirs, allowed) {
  // Scores come with four digits: what is exactly at the limit passes.
  const isBelow = ([metric, limit]) => theirs[metric] - ours[metric] > limit + 1e-9;
  return Object.entries(allowed)
    .filter(isBelow)
    .map(([metric]) => metric);
}
