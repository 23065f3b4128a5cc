import type { Id } from '@svault/shared';
import type { AgentStatus } from './agent.ts';
import type { PreviousRefreshToken, Session } from './session.ts';

/** An authorization code (RFC 6749 section 4.1). */
export interface OauthCode {
  readonly codeHash: string;
  readonly vaultId: Id<'vlt'>;
  /** The user who approved it. */
  readonly userId: Id<'usr'>;
  readonly agentId: Id<'agt'>;
  /** `ocl_…`, or the URL of the client's metadata document. */
  readonly clientId: string;
  /** The client's name for itself; shown, never trusted. */
  readonly clientName: string;
  /** As in the authorization request: the token request has to repeat it byte for byte. */
  readonly redirectUri: string;
  /** RFC 7636, `S256`. */
  readonly codeChallenge: string;
  /** The resource of its tokens (RFC 8707). */
  readonly audience: string;
  readonly expiresAt: string;
}

export interface OauthCodeStore {
  add(code: OauthCode): Promise<void>;
  /** Reads without consuming the code. */
  find(codeHash: string): Promise<OauthCode | undefined>;
  /** Consumes a code: it is returned at most once. */
  take(codeHash: string): Promise<OauthCode | undefined>;
  /** Removes codes that no client has redeemed. */
  removeOfUser(userId: Id<'usr'>): Promise<void>;
  removeExpired(now: string): Promise<void>;
}

/** An MCP client's session: it acts as one agent at one resource. */
export interface OauthSession {
  readonly session: Session;
  readonly agentId: Id<'agt'>;
  readonly clientId: string;
  /** The resource of its tokens. */
  readonly audience: string;
  /** Undefined where the session cannot be refreshed. */
  readonly refreshHash: string | undefined;
  /** Undefined before the first refresh. */
  readonly previous: PreviousRefreshToken | undefined;
}

/** An access token as it is stored. It stays valid until its expiry, also after a refresh of the session. */
export interface AccessToken {
  readonly tokenHash: string;
  readonly issuedAt: string;
  readonly expiresAt: string;
}

/** RFC 7662. */
export interface TokenFacts {
  readonly agentId: Id<'agt'>;
  readonly agentStatus: AgentStatus;
  readonly clientId: string;
  readonly audience: string;
  readonly issuedAt: string;
  readonly expiresAt: string;
}

/** No method finds a session of a removed user. */
export interface OauthSessionStore {
  /** @param session.codeHash of the authorization code; undefined without one */
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
  /** The session that was issued for a code. */
  findByCode(codeHash: string): Promise<OauthSession | undefined>;
  /** The session of a stored access token. */
  findByAccess(tokenHash: string): Promise<OauthSession | undefined>;
  /** All sessions of a client in an account. */
  ofClient(vaultId: Id<'vlt'>, clientId: string): Promise<readonly OauthSession[]>;
  /** Adds an access token to a session. */
  addAccess(sessionId: Id<'ses'>, access: AccessToken): Promise<void>;
  /** Replaces the current refresh token, within a transaction that has locked the account. */
  rotate(
    sessionId: Id<'ses'>,
    next: { readonly refreshHash: string; readonly access: AccessToken },
    previous: PreviousRefreshToken,
  ): Promise<void>;
  /** Also for an expired token that is still stored. */
  introspect(tokenHash: string): Promise<TokenFacts | undefined>;
  evictExpiredAccess(now: string): Promise<void>;
}
