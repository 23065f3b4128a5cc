import type { ExitName } from '../../failure.ts';

/** What to do about each exit code of this client. */
export const EXIT_CODE_REMEDIES: Readonly<Record<ExitName, string>> = {
  ok: 'Nothing is to be done.',
  failed: 'The line on stderr says why; --debug shows each request.',
  usage: 'The line on stderr says what would be right; so does --help behind the command.',
  denied: 'See who acts: svault whoami. Sign in, or take another login by --context.',
  notFound: 'Mind the spelling: svault ls, svault agents list.',
  unavailable: 'svault vault status and svault webhook status say which of them it is.',
  empty: 'Store a value: svault set NAME.',
  rateLimited: 'Wait for as long as the line on stderr says.',
  interrupted: 'Run it again; what was done before stays done.',
};
