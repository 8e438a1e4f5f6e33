// What is measured, and how it is told.

/** Tokens of the texts that are measured; the model reads no more. */
export const LENGTHS = [16, 32, 64, 128, 256];

/** A text of so many tokens, the two marks of the model among them. @param {number} length */
export const textOf = (length) => Array.from({ length: length - 2 }, () => 'the').join(' ');

/** How many times as much as before. @param {number} value @param {number | undefined} before */
export const times = (value, before) => (before === undefined ? '' : `× ${(value / before).toFixed(1)}`);
