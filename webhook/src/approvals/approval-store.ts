/** A person who decides, with a passkey. */
export interface Approver {
  /** `apv_…` */
  readonly id: string;
  readonly name: string;
  /** Of the passkey, base64url. */
  readonly credentialId: string;
  /** COSE. */
  readonly publicKey: Uint8Array;
  /** Signatures of the passkey so far, as far as it counts them; 0 if it does not. */
  readonly counter: number;
  readonly addedAtMs: number;
}

/** `ended`: it was revoked, or what it was about is no more. */
export type StoredStatus = 'pending' | 'approved' | 'denied' | 'used' | 'ended';

/** What a use is found by. */
export interface Match {
  /** Of this one use. */
  readonly once: string;
  /** Of every use that an allowance would cover; absent where none can be given. */
  readonly standing?: string | undefined;
}

export interface StoredApproval {
  /** `apr_…` */
  readonly id: string;
  readonly serviceName: string;
  readonly sub: string;
  readonly match: Match;
  /** What is signed (`approvalText`); erased once it has expired. */
  readonly text: string | null;
  /** JSON of what the page shows besides; erased alike. */
  readonly shown: string | null;
  /** Milliseconds since 1970, like all times here. */
  readonly askedAtMs: number;
  /** Of a pending one until when it can be decided, of an approved one until when it can be used. */
  readonly expiresAtMs: number;
  readonly status: StoredStatus;
  /** Of an allowance; null: for one use. */
  readonly standingSeconds: number | null;
  readonly decidedAtMs: number | null;
  readonly approverId: string | null;
}

export type NewApproval = Pick<
  StoredApproval,
  'id' | 'serviceName' | 'sub' | 'match' | 'askedAtMs' | 'expiresAtMs'
> & { readonly text: string; readonly shown: string };

/** Asked within a time, by what became of it. */
export interface AskedCounts {
  readonly asked: number;
  readonly approved: number;
  readonly denied: number;
}

/**
 * Approvers and approvals at rest. Calls are synchronous; writing ones take part in the open transaction. An approver, and a
 * request that waits or is approved, is authenticated under the root key: a row that another program changed counts as none.
 */
export interface ApprovalStore {
  approvers(): readonly Approver[];
  addApprover(approver: Approver): void;
  countSignature(approverId: string, counter: number): void;
  removeApprover(approverId: string): void;

  /** SHA-256 of the code of a link. */
  addLink(link: {
    readonly codeHash: Uint8Array;
    readonly name: string | undefined;
    readonly expiresAtMs: number;
  }): void;
  link(codeHash: Uint8Array, nowMs: number): { readonly name: string | undefined } | undefined;
  removeLink(codeHash: Uint8Array): void;

  approval(id: string): StoredApproval | undefined;
  /** Those that wait or may be used. Newest first. */
  open(nowMs: number): readonly StoredApproval[];
  /** One for this very use that waits, may be used, or was denied and has not expired yet. */
  sameAs(match: Match, nowMs: number): StoredApproval | undefined;
  /** One by which this use is approved; an allowance before one that it would use up. */
  approvedFor(match: Match, nowMs: number): StoredApproval | undefined;
  /** Those that wait. */
  countPending(of: { readonly serviceName?: string; readonly sub?: string }, nowMs: number): number;
  countAsked(sub: string, sinceMs: number): AskedCounts;
  add(approval: NewApproval): void;
  /** Of one that is pending. */
  decide(decision: {
    readonly id: string;
    readonly status: 'approved' | 'denied';
    readonly standingSeconds: number | undefined;
    readonly approverId: string;
    readonly decidedAtMs: number;
    readonly expiresAtMs: number;
  }): void;
  /** Of one that is approved, for one use. */
  useUp(id: string): void;
  /** Ends those that wait or may be used. @returns their ids */
  end(which: {
    readonly id?: string;
    readonly serviceName?: string;
    readonly approverId?: string;
  }): readonly string[];
  /** Erases what expired ones were about, those that expired before a moment, and links. */
  tidy(nowMs: number, forgetBeforeMs: number): void;
  /** Of a backup: nothing that was open is. */
  endAll(): void;
}
