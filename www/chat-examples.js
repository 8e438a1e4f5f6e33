// What the chat's buttons ask. The texts are the project's own.

const TEXT =
  `The town library will close for repairs on Monday and open again in six weeks. The roof has leaked since the
storm in March, and the reading room upstairs can no longer be used. Until then a bus with two thousand books will stop at
the market every Tuesday and Friday afternoon. Books that are out now may be kept until the library opens again, and
nobody pays for being late.`.replaceAll('\n', ' ');

const LETTER = `Hi Tom,

The report is late again. I need it on Friday, with the figures for March. Last time half of them were wrong, so check
them first.

Anna`.replaceAll(/(?<=\S)\n(?=\S)/gu, ' ');

/** What each button asks, by its name in the page. @type {Readonly<Record<string, string>>} */
export const EXAMPLES = {
  summarise: `Summarise this text in one sentence:\n\n${TEXT}`,
  rewrite: `Rewrite the following email to make it more friendly and polite while keeping its main points:\n\n${LETTER}`,
  explain: 'Why is the sky blue? Explain it to a child in three sentences.',
};
