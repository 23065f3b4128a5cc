import { APPROVAL_LIMITS, type RequestedOperation } from '@svault/shared/schemas';
import { coveredFields, requestDigest } from '@svault/shared/request-digest';
import type { Clock } from '@svault/shared';
import type { ApprovalWaiters } from '../access/approval-waiters.ts';
import type { OpenApproval } from '../core/approval.ts';
import type { ApprovalAsked } from '../access/ask-approval.ts';
import type { SealedApprovals } from '../access/sealed-approvals.ts';
import { kindOf } from '../access/decision.ts';
import { outgoingFields, upstreamRequest } from '../access/upstream-request.ts';
import type { ProxyExchange, WebhookUse } from './exchange.ts';

type ProxyVerdict =
  | { readonly kind: 'approved' }
  | { readonly kind: 'unavailable'; readonly retryAfterSeconds: number }
  /** The webhook does not take the question: there are too many fields, for example. */
  | { readonly kind: 'refused' }
  /** Undefined where too many are open. */
  | { readonly kind: 'open'; readonly open: OpenApproval | undefined };

/** Approvals of calls that a webhook refused for want of one. */
export interface ProxyApprovals {
  /** Asks the webhook for one, and waits for it where the request does. @throws ApiError AUDIT_UNAVAILABLE */
  approve(use: WebhookUse, exchange: ProxyExchange): Promise<ProxyVerdict>;
}

export function createProxyApprovals({
  sealedApprovals,
  waiters,
  clock,
}: {
  readonly sealedApprovals: SealedApprovals;
  readonly waiters: ApprovalWaiters;
  readonly clock: Clock;
}): ProxyApprovals {
  return {
    approve: async (use, exchange) => {
      const { asked, operation } = questionOf(use, exchange);
      const { waiting } = exchange;
      const endMs = clock.monotonic() + (waiting?.seconds ?? 0) * 1_000;
      for (;;) {
        const verdict = await sealedApprovals.ask(asked, operation, true);
        // Of a record that was replaced meanwhile none is required.
        if (verdict.kind === 'not_required' || verdict.kind === 'approved') return { kind: 'approved' };
        if (verdict.kind !== 'open' || verdict.open?.status !== 'pending') return verdict;
        const leftMs = endMs - clock.monotonic();
        const isDecided =
          waiting !== undefined && leftMs > 0 && (await waiters.wait(verdict.open, leftMs, waiting.signal));
        if (!isDecided) return verdict;
      }
    },
  };
}

/** What the webhook is asked; and what people see here, although what counts is what the webhook makes of the operation. */
function questionOf(
  use: WebhookUse,
  { method, fields, body, reason, target = '' }: ProxyExchange,
): { readonly asked: ApprovalAsked; readonly operation: RequestedOperation } {
  const { vaultId, proxyId, origin, config } = use;
  const { serviceName, upstreamUrl, headerTemplates, queryTemplates = {} } = config;
  const kind = kindOf(use);
  const sender = {
    ...{ kind, upstreamUrl, headerTemplates: JSON.stringify(headerTemplates) },
    queryTemplates: JSON.stringify(queryTemplates),
  };
  const asReceived = { method, target: kind === 'http' ? target : undefined, fields, body };
  const sent = upstreamRequest(sender, asReceived);
  const read = requestDigest({ ...sent, kind });
  // Where no rule of the record is for MCP, the webhook covers bytes, and reads no message (PROTOCOL.md APR-19).
  const digested = 'ambiguity' in read ? requestDigest({ ...sent, kind: 'http' }) : read;
  if ('ambiguity' in digested) throw new Error('a request to an HTTP API has one digest');
  const { digest, bodyDigest, tool } = digested;
  const url = `${new URL(upstreamUrl).origin}${sent.target.split('?', 1)[0]}`;
  const covered = coveredFields(Object.entries(outgoingFields(kind, fields, body)));
  const isShort = body.byteLength <= APPROVAL_LIMITS.bodyBytes;
  return {
    asked: {
      ...{ vaultId, serviceName, reason, origin, caller: { type: 'proxy', id: proxyId } },
      request: { method, url, target: sent.target, digest, ...(tool !== undefined && { tool }) },
    },
    operation: {
      ...{ type: 'proxy', proxyId, method, ...(kind === 'http' && { target }) },
      fields: covered.map(([name, value]) => [name, value]),
      ...(isShort ? shortBody(body) : { bodyDigest, bodyBytes: body.byteLength }),
    },
  };
}

const shortBody = (body: Uint8Array) =>
  body.byteLength === 0 ? {} : { body: Buffer.from(body).toString('base64') };
