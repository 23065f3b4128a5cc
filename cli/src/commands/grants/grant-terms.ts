import { secondsOf } from '../../api/duration.ts';
import { usage } from '../../failure.ts';
import type { GrantTerms } from './grant-services.ts';

/** Flags of commands that make grants. */
export interface GrantOptions {
  readonly expires?: string;
  readonly refreshPolicy?: 'none' | 'auto';
}

/** When a grant ends, and who refreshes the credential. @throws Failure usage */
export const grantTerms = ({ expires, refreshPolicy }: GrantOptions): GrantTerms => ({
  ...(expires !== undefined && expiry(expires)),
  ...(refreshPolicy !== undefined && { refreshPolicy }),
});

const HOUR_SECONDS = 3_600;
/** Specification, "Grant": 1 hour up to 30 days. */
const MIN_SECONDS = HOUR_SECONDS;
const MAX_SECONDS = 30 * 24 * HOUR_SECONDS;

/** What `--expires` says: a duration, or `never`. @throws Failure usage */
const expiry = (text: string): GrantTerms =>
  text === 'never' ? { grantExpiresAt: null } : { expiresInSeconds: grantSeconds(text) };

/**
 * How long a grant holds: `90m`, `1h`, `30d`, `1d12h`.
 * @returns seconds
 * @throws Failure usage for another form, and for less than an hour or more than 30 days
 */
function grantSeconds(text: string): number {
  const seconds = secondsOf(text);
  if (seconds !== undefined && seconds >= MIN_SECONDS && seconds <= MAX_SECONDS) return seconds;
  throw usage(
    seconds !== undefined
      ? `a grant holds for 1h to 30d, or with --expires never until it is revoked; ${text} is outside`
      : /^\d+$/.test(text)
        ? `--expires ${text} has no unit: --expires ${text}h is hours, --expires ${text}d days; svault grant --help has examples`
        : `--expires ${text} is not a duration such as 90m, 1h, 1d12h, 30d or never: svault grant --help`,
  );
}
