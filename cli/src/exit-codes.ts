/**
 * Every exit code of the client. 6 and 7 are the specification's ("CLI exit codes"); scripts depend on the others as
 * well, so a number never gets another meaning.
 */
export const EXIT_CODES = {
  ok: { code: 0, meaning: 'done' },
  failed: { code: 1, meaning: 'refused or failed, in a way that no other code names' },
  usage: { code: 2, meaning: 'a wrong command line: unknown command or flag, missing or ambiguous argument' },
  denied: { code: 3, meaning: 'not signed in, or not allowed' },
  notFound: { code: 4, meaning: 'there is no such thing, or no grant for it' },
  unavailable: { code: 5, meaning: 'the vault is locked, or the service or the webhook does not answer' },
  empty: { code: 6, meaning: 'the token has no value (get --check)' },
  rateLimited: { code: 7, meaning: 'too many requests (HTTP 429), after the retries' },
  interrupted: { code: 130, meaning: 'ended by Ctrl-C' },
} as const;

export type ExitName = keyof typeof EXIT_CODES;

/** The table that `--help` ends with. */
export function exitCodeTable(): string {
  return [
    'Exit codes:',
    ...Object.values(EXIT_CODES).map(({ code, meaning }) => `  ${String(code).padStart(3)}  ${meaning}`),
  ].join('\n');
}
