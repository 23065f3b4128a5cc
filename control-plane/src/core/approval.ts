import { hash } from 'node:crypto';
import type { Id } from '@svault/shared';
import type { PageRequest, Page } from './paging.ts';

/** Where an approval is decided: by members, for a policy's rule; at the webhook, by a passkey; or by members, for a grant. */
export const APPROVAL_KINDS = ['policy', 'passkey', 'access'] as const;
export type ApprovalKind = (typeof APPROVAL_KINDS)[number];

export const APPROVAL_STATUSES = ['pending', 'approved', 'denied', 'expired', 'used'] as const;
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];

/** Who asks. */
export interface ApprovalCaller {
  readonly type: 'agent' | 'proxy';
  readonly id: string;
}

/** What a proxy would send; never a query value or a body. */
export interface ApprovalRequest {
  readonly method: string;
  /** Without its query. */
  readonly url: string;
  /** That it calls. */
  readonly tool?: string | undefined;
  /** SHA-256 of its body (`requestDigest`), base64. */
  readonly digest: string;
}

export interface Approval {
  readonly id: Id<'apr'>;
  readonly vaultId: Id<'vlt'>;
  readonly kind: ApprovalKind;
  readonly callerType: ApprovalCaller['type'];
  readonly callerId: string;
  /** Empty for a proxy that sends sessions, and so no credential. */
  readonly serviceName: string;
  /** {@link sameRequest}: requests that one approval stands for. */
  readonly requestKey: string;
  /** JSON of {@link ApprovalRequest}; undefined for the credential itself. */
  readonly request: string | undefined;
  /** As the agent gave it: untrusted, at most 500 characters. */
  readonly reason: string | undefined;
  readonly askedAt: string;
  /** When it can no longer be decided; of an approved one, be used. */
  readonly expiresAt: string;
  readonly decision: 'approved' | 'denied' | undefined;
  readonly decidedAt: string | undefined;
  /** Undefined at the webhook, whose log has the approver. */
  readonly decidedBy: Id<'usr'> | undefined;
  /** How often an approved one may be used, and for how long: what the rule says at the time of the request. */
  readonly uses: number;
  readonly validSeconds: number;
  /** At the webhook. */
  readonly webhookApprovalId: string | undefined;
  readonly url: string | undefined;
}

/** With the uses so far. */
export interface CountedApproval extends Approval {
  readonly used: number;
}

/** A pending request for approval can be decided this long. */
export const PENDING_MS = 15 * 60_000;
/** One for a grant, which nobody waits for at that moment. */
export const PENDING_ACCESS_MS = 24 * 3_600_000;
/** A denial silences the same request. */
export const SILENCED_MS = 10 * 60_000;
/** Pending ones. */
export const MAX_PENDING = { ofCaller: 20, ofService: 100 } as const;
export const MAX_REASON_CHARACTERS = 500;
/** Of a tool's name, which people see; its digest covers all of it. */
export const MAX_TOOL_CHARACTERS = 200;

/** Caller and credential, as events name them. */
export const eventSubjectOf = ({
  callerType,
  callerId,
  serviceName,
}: Pick<Approval, 'callerType' | 'callerId' | 'serviceName'>) => ({
  ...(callerType === 'agent' ? { agentId: callerId as Id<'agt'> } : { proxyId: callerId as Id<'prx'> }),
  ...(serviceName !== '' && { serviceName }),
});

/** Whether requests are the same to an approval: their caller, credential and, through a proxy, all that would be sent. */
export const sameRequest = (
  { type, id }: ApprovalCaller,
  serviceName: string,
  request: readonly string[],
): string => hash('sha256', JSON.stringify([type, id, serviceName, ...request]), 'hex');

/** @param now `YYYY-MM-DDTHH:MM:SS.sssZ` */
export function statusOf(
  {
    kind,
    decision,
    expiresAt,
    uses,
    used,
  }: Pick<CountedApproval, 'kind' | 'decision' | 'expiresAt' | 'uses' | 'used'>,
  now: string,
): ApprovalStatus {
  if (decision === 'denied') return 'denied';
  // It became a grant, which has an end of its own.
  if (decision === 'approved' && kind === 'access') return 'approved';
  if (decision === 'approved' && used >= uses) return 'used';
  return expiresAt <= now ? 'expired' : (decision ?? 'pending');
}

/** What a denied caller is told: where a decision is made or was. */
export interface ToldApproval {
  readonly id: Id<'apr'>;
  readonly status: 'pending' | 'denied';
  readonly url: string;
  readonly expiresAt: string;
}

export interface OpenApproval extends ToldApproval {
  readonly vaultId: Id<'vlt'>;
  /** Its id at the webhook, where it is decided there. */
  readonly webhookApprovalId: string | undefined;
}

/** Without what is nobody's but this service's. */
export const toldOf = ({ id, status, url, expiresAt }: OpenApproval): ToldApproval => ({
  id,
  status,
  url,
  expiresAt,
});

export interface ApprovalStore {
  add(approval: Approval): Promise<void>;
  get(vaultId: Id<'vlt'>, id: string): Promise<CountedApproval | undefined>;
  /** The newest for the same request. */
  newestOf(vaultId: Id<'vlt'>, requestKey: string): Promise<CountedApproval | undefined>;
  /** Of these ids of a webhook's. */
  ofWebhook(vaultId: Id<'vlt'>, webhookApprovalIds: readonly string[]): Promise<readonly CountedApproval[]>;
  /** Those of these that were decided. */
  decidedAmong(ids: readonly Id<'apr'>[]): Promise<readonly Id<'apr'>[]>;
  /** How many of a caller and of a service are pending. */
  pendingOf(
    approval: Pick<Approval, 'vaultId' | 'callerType' | 'callerId' | 'serviceName'>,
    now: string,
  ): Promise<{ readonly ofCaller: number; readonly ofService: number }>;
  /** Oldest first. @param pendingAt only those that are pending at that time */
  list(vaultId: Id<'vlt'>, pendingAt: string | undefined, page: PageRequest): Promise<Page<CountedApproval>>;
  /** Writes decision, its time and maker, and the new end. */
  decide(
    approval: Pick<Approval, 'vaultId' | 'id' | 'decision' | 'decidedAt' | 'decidedBy' | 'expiresAt'>,
  ): Promise<void>;
  /** With their counts. @returns how many were removed */
  removeBefore(expiresAt: string, atMost: number): Promise<number>;
  /** Those of a caller, of a service, or of one for the other. */
  removeOf(
    vaultId: Id<'vlt'>,
    of:
      | { readonly callerId: string; readonly serviceName?: string }
      | { readonly callerId?: never; readonly serviceName: string },
  ): Promise<void>;
}
