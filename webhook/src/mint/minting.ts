import type { Clock, Secret } from '@svault/shared';
import type { Egress } from '@svault/shared/egress';
import { z } from 'zod';

/** Protocol section 2: a webhook's calls to providers end within 8 s. */
export const PROVIDER_TIMEOUT_MS = 8_000;
/** The largest answer of a provider that is read. */
export const PROVIDER_ANSWER_BYTES = 64 * 1024;

/** What a minter works with. */
export interface MinterTools {
  readonly egress: Pick<Egress, 'request'>;
  readonly clock: Clock;
  /** For one call. */
  readonly timeoutMs: number;
}

/** What a minter made. */
export interface NewCredential {
  readonly accessToken: Secret;
  /** Milliseconds since 1970; undefined where the provider did not say. */
  readonly expiryMs: number | undefined;
}

/** A token as it may stand in a header: visible ASCII, RFC 6749 appendix A.12. */
export const mintedTextSchema = z.string().regex(/^[\x21-\x7e]{1,65536}$/);
