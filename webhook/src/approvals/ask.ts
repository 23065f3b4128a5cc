import type { GroupCommit } from '@svault/server-kit/group-commit';
import { type HeaderPairs, approvalText, formatTime, newId, toBase64 } from '@svault/shared';
import {
  APPROVAL_LIMITS,
  type ApprovalAnswer,
  type ApprovalListAnswer,
  type ApprovalRequest,
  type ApprovalState,
  type RequestedOperation,
} from '@svault/shared/schemas';
import type { BindingReader } from '../binding/binding.ts';
import { ApiError } from '../errors.ts';
import type { OpenRecord, Vault } from '../vault/vault.ts';
import type { ApprovalStore, StoredApproval } from './approval-store.ts';
import { type Approvable, CREDENTIAL_USE, matchOf } from './match.ts';
import { needsApproval } from './use-approval.ts';

/** What of a request is shown and not signed: the caller's and the control plane's words, and what the digest is of. */
export interface ShownRequest {
  readonly name?: string | undefined;
  readonly reason?: string | undefined;
  /** Header fields that the decision covers. */
  readonly fields?: HeaderPairs | undefined;
  /** base64 of the body, where it is at hand: exactly what the decision covers (PROTOCOL.md APR-18). */
  readonly body?: string | undefined;
  /** Of a body of which there is nothing but its digest. */
  readonly bodyBytes?: number | undefined;
}

/**
 * What a person would decide on of a call by proxy; undefined where the call needs no approval.
 *
 * @throws ApiError as the call would
 */
export type AskedCall = (
  record: Pick<OpenRecord, 'serviceName' | 'settings'>,
  operation: Extract<RequestedOperation, { readonly type: 'proxy' }>,
) => AskedUse | undefined;

interface AskedUse extends Approvable {
  readonly fields?: HeaderPairs;
  readonly body?: Uint8Array | undefined;
}

/** After which the caller of one bound may ask again: some open request will have ended. */
const RETRY_SECONDS = 60;
const LIFETIME_MS = APPROVAL_LIMITS.lifetimeSeconds * 1000;
const NOT_REQUIRED = { status: 'not_required' } as const;

/** What the control plane asks of approvals (PROTOCOL.md section 5.10): to have one, and what became of it. */
export function createAskApproval(deps: {
  readonly approvals: Pick<ApprovalStore, 'approval' | 'sameAs' | 'countPending' | 'add'>;
  readonly vault: Pick<Vault, 'open'>;
  readonly binding: BindingReader;
  readonly askedCall: AskedCall;
  readonly commit: GroupCommit;
  /** The later of wall clock and time floor, milliseconds since 1970. */
  readonly latestMs: () => number;
  readonly webhookUrl: string;
}) {
  const { approvals, vault, binding, askedCall, commit, latestMs, webhookUrl } = deps;

  const answerOf = (approval: StoredApproval): ApprovalAnswer => ({
    ...stateOf(approval, latestMs()),
    askedAt: formatTime(approval.askedAtMs),
    url: approvalUrl(webhookUrl, approval.id),
  });

  /** In an open transaction. */
  const hasRoom = (serviceName: string, sub: string, nowMs: number): boolean => {
    const { open, openPerCredential, openPerSub } = APPROVAL_LIMITS;
    return (
      approvals.countPending({ sub }, nowMs) < openPerSub &&
      approvals.countPending({ serviceName }, nowMs) < openPerCredential &&
      approvals.countPending({}, nowMs) < open
    );
  };

  return {
    /**
     * Puts a use before the approvers; the same use again is the same request.
     *
     * @throws ApiError NOT_FOUND, DELIVERY_NOT_ALLOWED, DESTINATION_NOT_ALLOWED, REQUEST_NOT_ALLOWED, RATE_LIMITED
     */
    ask: async ({
      serviceName,
      sub,
      name,
      reason,
      operation: asked,
    }: ApprovalRequest): Promise<ApprovalAnswer> => {
      const record = vault.open(serviceName);
      const webhook = binding()?.webhookId;
      if (record === undefined || webhook === undefined)
        throw new ApiError('NOT_FOUND', 'there is no credential of that name');
      if (!needsApproval(record, asked.type)) return NOT_REQUIRED;
      const use = describe(record, asked);
      if (use === undefined) return NOT_REQUIRED;
      const { operation, fields, body } = use;
      const match = matchOf({ serviceName, sub }, use);
      const bodyBytes = asked.type === 'proxy' ? asked.bodyBytes : undefined;
      const shown: ShownRequest = { name, reason, fields, body: textOf(body), bodyBytes };
      const approval = await commit.run(() => {
        const nowMs = latestMs();
        const same = approvals.sameAs(match, nowMs);
        if (same !== undefined) return same;
        if (!hasRoom(serviceName, sub, nowMs)) return undefined;
        const id = newId('apr');
        const [askedAtMs, expiresAtMs] = [nowMs, nowMs + LIFETIME_MS];
        const [askedAt, expiresAt] = [formatTime(askedAtMs), formatTime(expiresAtMs)];
        const text = approvalText({ id, webhook, serviceName, sub, operation, askedAt, expiresAt });
        approvals.add({
          id,
          serviceName,
          sub,
          match,
          text,
          shown: JSON.stringify(shown),
          askedAtMs,
          expiresAtMs,
        });
        return approvals.approval(id);
      });
      if (approval === undefined) throw tooManyOpen();
      return answerOf(approval);
    },
    /** Those that are unknown are left out. */
    list: (ids: readonly string[]): ApprovalListAnswer => {
      const nowMs = latestMs();
      const found = ids.map((id) => approvals.approval(id)).filter((each) => each !== undefined);
      return { items: found.map((each) => stateOf(each, nowMs)) };
    },
  };

  function describe(record: OpenRecord, asked: RequestedOperation): AskedUse | undefined {
    if (asked.type === 'proxy') return askedCall(record, asked);
    if (record.settings.delivery === 'proxy-only')
      throw new ApiError('DELIVERY_NOT_ALLOWED', 'this credential is used through a proxy only');
    return CREDENTIAL_USE;
  }
}

const textOf = (body: Uint8Array | undefined): string | undefined =>
  body === undefined || body.byteLength === 0 ? undefined : toBase64(body);

export type AskApproval = ReturnType<typeof createAskApproval>;

const approvalUrl = (webhookUrl: string, id: string): string => `${webhookUrl}/approvals/${id}`;

function stateOf(approval: StoredApproval, nowMs: number): ApprovalState {
  return {
    id: approval.id,
    status: statusOf(approval, nowMs),
    expiresAt: formatTime(approval.expiresAtMs),
  };
}

export function statusOf(
  { status, expiresAtMs }: Pick<StoredApproval, 'status' | 'expiresAtMs'>,
  nowMs: number,
): ApprovalState['status'] {
  if (status === 'ended') return 'expired';
  const isOpen = status === 'pending' || status === 'approved';
  return isOpen && expiresAtMs <= nowMs ? 'expired' : status;
}

const tooManyOpen = (): Error =>
  new ApiError('RATE_LIMITED', 'too many requests wait for a decision', {
    details: { retryAfter: RETRY_SECONDS },
    reason: 'open_approvals',
  });
