/** Where nonces and ticket ids are claimed. Calls are synchronous and take part in an open transaction. */
export interface ClaimStore {
  /**
   * True at most once per id, over all processes that share the store and over restarts, once the transaction is
   * committed; false ever after, until the claim is forgotten.
   *
   * @param untilMs after this moment nothing with this id is accepted anyway, milliseconds since 1970
   */
  claim(id: string, untilMs: number): boolean;
  /** Forgets claims whose `untilMs` lies before a moment, at most `limit` of them; returns how many. */
  forget(beforeMs: number, limit: number): number;
}

/** A nonce counts per key (protocol section 3). */
export const nonceClaimId = (keyId: string, nonce: string): string => `nonce ${keyId} ${nonce}`;

/** A ticket id counts for the webhook as a whole (protocol section 4). */
export const ticketClaimId = (jti: string): string => `ticket ${jti}`;
