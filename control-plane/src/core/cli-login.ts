import type { Id } from '@svault/shared';

/** A sign-in of a command-line client that waits for a person, or for the client to come with the code. */
export interface CliLogin {
  readonly id: Id<'clr'>;
  readonly codeChallenge: string;
  /** Where the browser brings the code; undefined: the page shows it, to be pasted. */
  readonly redirectUri: string | undefined;
  /** What the person compares. */
  readonly userCode: string;
  /** What the client called itself; shown, never trusted. */
  readonly client: string;
  /** Where the client's request came from; undefined where that cannot be told. */
  readonly address: string | undefined;
  /** Of the request until it is approved, of the code after that. */
  readonly expiresAt: string;
}

/** A {@link CliLogin} that a person approved. */
export interface ApprovedCliLogin extends CliLogin {
  readonly vaultId: Id<'vlt'>;
  readonly userId: Id<'usr'>;
}

export interface CliLoginStore {
  /** @param addressGroup of its address (`addressGroup`) */
  add(login: CliLogin, addressGroup: string): Promise<void>;
  /** One that waits for a person. */
  findPending(id: Id<'clr'>, now: string): Promise<CliLogin | undefined>;
  /** Approves what waits for a person: at most once, whatever runs beside it. @returns whether it did */
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
  /** Takes out one that waits for a person. @returns whether it did */
  deny(id: Id<'clr'>): Promise<boolean>;
  /** What a code stands for; uses nothing up. */
  findApproved(codeHash: string): Promise<ApprovedCliLogin | undefined>;
  /** Takes out what a code stands for: given at most once per code, whatever runs beside it. */
  take(codeHash: string): Promise<ApprovedCliLogin | undefined>;
  /** Takes out what a person approved and no client came for yet. */
  removeOfUser(userId: Id<'usr'>): Promise<void>;
  removeExpired(now: string): Promise<void>;
  /** Notes that a person is being asked about one. */
  noteAsked(id: Id<'clr'>, at: string): Promise<void>;
  /** Of those that wait for a person, keeps so many bytes, and all that a person was asked about later than a time. */
  evictWaiting(bounds: { readonly maxBytes: number; readonly askedSince: string }): Promise<void>;
}
