/** Command lines that show what a command is for; for the end of its help. */
export const examples = (...lines: readonly string[]): string =>
  ['', 'Examples:', ...lines.map((line) => `  $ ${line}`)].join('\n');
