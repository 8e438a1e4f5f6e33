// What the chat's buttons ask. The texts are the project's own.

const TEXT =
  `The town library will close for repairs on Monday and open again in six weeks. The roof has leaked since the
storm in March, and the reading room upstairs can no longer be used. Until then a bus with two thousand books will stop at
the market every Tuesday and Friday afternoon. Books that are out now may be kept until the library opens again, and
nobody pays for being late.`.replaceAll('\n', ' ');

const RUDE =
  'Your parcel never came. Nobody answers the phone. Give me my money back now or I will never buy from you again.';

/** @type {readonly { name: string, prompt: string }[]} */
export const EXAMPLES = [
  { name: 'Summarise this text', prompt: `Summarise this text in one sentence:\n\n${TEXT}` },
  { name: 'Rewrite politely', prompt: `Rewrite this message so that it is polite:\n\n${RUDE}` },
  { name: 'Explain something', prompt: 'Why is the sky blue? Explain it to a child in three sentences.' },
];
