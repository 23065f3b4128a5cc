import type { Id } from '@svault/shared';

/** A pending sign-in of a command-line client: it waits for approval, or for the client to redeem the code. */
export interface CliLogin {
  readonly id: Id<'clr'>;
  readonly codeChallenge: string;
  /** The loopback URL that the browser takes the code to; undefined: the page shows the code, to be pasted. */
  readonly redirectUri: string | undefined;
  /** The code that the user compares. */
  readonly userCode: string;
  /** The client's name for itself; shown, never trusted. */
  readonly client: string;
  /** The client's IP address, if known. */
  readonly address: string | undefined;
  /** Of the request until its approval, then of the code. */
  readonly expiresAt: string;
}

/** A {@link CliLogin} that a user approved. */
export interface ApprovedCliLogin extends CliLogin {
  readonly vaultId: Id<'vlt'>;
  readonly userId: Id<'usr'>;
}

export interface CliLoginStore {
  /** @param addressGroup of its address */
  add(login: CliLogin, addressGroup: string): Promise<void>;
  /** One that is not approved yet. */
  findPending(id: Id<'clr'>, now: string): Promise<CliLogin | undefined>;
  /** Approves a pending login: true at most once per login. */
  approve(
    id: Id<'clr'>,
    now: string,
    approval: {
      readonly vaultId: Id<'vlt'>;
      readonly userId: Id<'usr'>;
      readonly codeHash: string;
      readonly expiresAt: string;
    },
  ): Promise<boolean>;
  /** Removes a pending login. @returns whether there was one */
  deny(id: Id<'clr'>): Promise<boolean>;
  /** Reads without consuming the code. */
  findApproved(codeHash: string): Promise<ApprovedCliLogin | undefined>;
  /** Consumes a code: its login is returned at most once. */
  take(codeHash: string): Promise<ApprovedCliLogin | undefined>;
  /** Removes approved logins that no client has redeemed. */
  removeOfUser(userId: Id<'usr'>): Promise<void>;
  removeExpired(now: string): Promise<void>;
  /** Records that a user was shown the login. */
  noteAsked(id: Id<'clr'>, at: string): Promise<void>;
  /** Evicts pending logins beyond so many bytes, except those shown to a user since a time. */
  evictWaiting(bounds: { readonly maxBytes: number; readonly askedSince: string }): Promise<void>;
}
