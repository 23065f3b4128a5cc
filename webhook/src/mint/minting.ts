import type { Clock, Secret } from '@svault/shared';
import type { Egress } from '@svault/shared/egress';
import { z } from 'zod';
import { TOKEN_TEXT } from '../provider/provider-bounds.ts';

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

export const mintedTextSchema = z.string().regex(TOKEN_TEXT);
