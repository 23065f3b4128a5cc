import type { Id } from '@svault/shared';
import type { AgentStatus } from './agent.ts';
import type { PreviousRefreshToken, Session } from './session.ts';

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

/** What an MCP client has: an agent to act as, at one resource. It goes with its session. */
export interface OauthSession {
  readonly session: Session;
  readonly agentId: Id<'agt'>;
  readonly clientId: string;
  /** The resource that its tokens are for. */
  readonly audience: string;
  /** Undefined where nobody may refresh it. */
  readonly refreshHash: string | undefined;
  /** Undefined before the first refresh. */
  readonly previous: PreviousRefreshToken | undefined;
}

/** An access token, as it is kept: it holds until its own end, also once the session was refreshed. */
export interface AccessToken {
  readonly tokenHash: string;
  readonly issuedAt: string;
  readonly expiresAt: string;
}

/** What an access token stands for. */
export interface TokenFacts {
  readonly agentId: Id<'agt'>;
  readonly agentStatus: AgentStatus;
  readonly clientId: string;
  readonly audience: string;
  readonly issuedAt: string;
  readonly expiresAt: string;
}

/** Nothing here finds a session whose user was removed: those end with the user. */
export interface OauthSessionStore {
  /** @param session.codeHash of the code that it is opened with; undefined: it was opened without one */
  add(
    session: {
      readonly sessionId: Id<'ses'>;
      readonly agentId: Id<'agt'>;
      readonly clientId: string;
      readonly audience: string;
      readonly codeHash: string | undefined;
      readonly refreshHash: string | undefined;
    },
    access: AccessToken,
  ): Promise<void>;
  /** @param familyHash the session's token hash */
  find(familyHash: string): Promise<OauthSession | undefined>;
  /** The session that a code opened. */
  findByCode(codeHash: string): Promise<OauthSession | undefined>;
  /** The session of an access token that is kept. */
  findByAccess(tokenHash: string): Promise<OauthSession | undefined>;
  /** All that a client has in an account. */
  ofClient(vaultId: Id<'vlt'>, clientId: string): Promise<readonly OauthSession[]>;
  /** One more access token of a session, beside those that it has. */
  addAccess(sessionId: Id<'ses'>, access: AccessToken): Promise<void>;
  /** Puts the next pair in the place of the present one; within a transaction that holds the account. */
  rotate(
    sessionId: Id<'ses'>,
    next: { readonly refreshHash: string; readonly access: AccessToken },
    previous: PreviousRefreshToken,
  ): Promise<void>;
  /** Of a token that is kept, whether or not its time is over. */
  introspect(tokenHash: string): Promise<TokenFacts | undefined>;
  /** Forgets access tokens whose time is over. */
  evictExpiredAccess(now: string): Promise<void>;
}
