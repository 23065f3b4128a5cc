import type { Id } from '@svault/shared';

/** What a person approved, until the client comes for it. */
export interface OauthCode {
  readonly codeHash: string;
  readonly vaultId: Id<'vlt'>;
  /** Who approved it. */
  readonly userId: Id<'usr'>;
  readonly agentId: Id<'agt'>;
  /** An id of ours, or the address of the client's metadata document. */
  readonly clientId: string;
  /** What the client called itself; shown, never trusted. */
  readonly clientName: string;
  /** As the client asked with it: the token endpoint has to be told the same bytes. */
  readonly redirectUri: string;
  /** RFC 7636, `S256`. */
  readonly codeChallenge: string;
  /** The resource that its tokens will be for (RFC 8707). */
  readonly audience: string;
  readonly expiresAt: string;
}

export interface OauthCodeStore {
  add(code: OauthCode): Promise<void>;
  /** What a code stands for; uses nothing up. */
  find(codeHash: string): Promise<OauthCode | undefined>;
  /** Takes out what a code stands for: given at most once per code, whatever runs beside it. */
  take(codeHash: string): Promise<OauthCode | undefined>;
  /** Takes out what a person approved and no client came for yet. */
  removeOfUser(userId: Id<'usr'>): Promise<void>;
  removeExpired(now: string): Promise<void>;
}
