import type { Id } from '@svault/shared';
import type { Role } from './actor.ts';
import type { PreviousRefreshToken, Session } from './session-store.ts';

/** A pair of keys, as it is kept. */
export interface KeptKeys {
  readonly refreshHash: string;
  /** Undefined once it has ended. */
  readonly accessHash: string | undefined;
  readonly accessExpiresAt: string;
}

/** What a refresh left behind. */
export interface FormerKeys extends PreviousRefreshToken {
  readonly accessHash: string | undefined;
  readonly accessExpiresAt: string | undefined;
}

export interface CliSession {
  readonly session: Session;
  readonly role: Role;
  readonly keys: KeptKeys;
  /** Undefined before the first refresh. */
  readonly former: FormerKeys | undefined;
}

/** The keys of command-line sessions; they go with their session. */
export interface CliSessionStore {
  add(sessionId: Id<'ses'>, keys: KeptKeys): Promise<void>;
  /** Finds no session whose user was removed. @param familyHash the session's token hash */
  find(familyHash: string): Promise<CliSession | undefined>;
  /** Puts the next pair in the place of the present one; within a transaction that holds the account. */
  rotate(sessionId: Id<'ses'>, next: KeptKeys, former: FormerKeys): Promise<void>;
  /** Forgets access tokens whose time is over. */
  forgetEndedAccess(now: string): Promise<void>;
}
