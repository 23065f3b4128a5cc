import type { Secret } from '@svault/shared';
import type { OpenRecord } from './vault.ts';

/** What a record gives at this moment: refreshed, minted, or as it was stored. */
export interface CurrentCredential {
  /** Of a later version than the one asked with, where that was refreshed. */
  readonly record: OpenRecord;
  /** The column "Delivered as `accessToken`" of protocol section 5.5. */
  readonly accessToken: Secret<string>;
  /** As protocol section 2 writes times: of the token delivered. */
  readonly expiryTime?: string | undefined;
  /** TOTP: seconds for which the code still holds, from 1. */
  readonly expiresIn?: number | undefined;
}

/** Makes of an open record what may be used now (protocol sections 5.4 and 5.6). */
export interface CurrentCredentials {
  /**
   * At once, where nobody has to be asked: undefined where a provider or minter has to be called.
   *
   * @throws AppError EMPTY_TOKEN, REFRESH_NEEDED (with `retryAfter`), REAUTH_NEEDED
   */
  atHand(record: OpenRecord, caller: string): CurrentCredential | undefined;
  /**
   * Calls the provider or minter where that is needed, once for all who wait.
   *
   * @param caller the ticket's `sub`: minted credentials are kept for each
   * @returns for the record that is live by then; all that was sealed with it but its expiry is as in the one given
   * @throws AppError EMPTY_TOKEN, REFRESH_NEEDED (with `retryAfter`), REAUTH_NEEDED, PROVIDER_ERROR, PROVIDER_TIMEOUT,
   *   MINT_FAILED, RATE_LIMITED (with `retryAfter`), VERSION_CONFLICT where another secret was stored meanwhile, or none is left
   */
  obtain(record: OpenRecord, caller: string): Promise<CurrentCredential>;
}

/** What a minter makes of a record that has one, or of a TOTP seed. */
export type Minted = Omit<CurrentCredential, 'record'>;

/** Credentials that are made on demand (protocol section 5.5). */
export interface Mint {
  /** Whether this record's `accessToken` is made, and not stored. */
  makes(record: OpenRecord): boolean;
  /** A TOTP code, or what was minted for this caller and has more than a third of its life left. */
  atHand(record: OpenRecord, caller: string): Minted | undefined;
  /** @throws AppError MINT_FAILED, PROVIDER_TIMEOUT */
  obtain(record: OpenRecord, caller: string): Promise<Minted>;
}
