import { createConcurrencyLimit } from '@svault/server-kit/concurrency-limit';
import type { Logger } from '@svault/server-kit/logger';
import type { Id } from '@svault/shared';
import { APPROVAL_LIMITS, type RequestedOperation } from '@svault/shared/schemas';
import type { LearnStates } from '../access/approval-waiters.ts';
import type { ApprovalAsked } from '../access/ask-approval.ts';
import type { SealedApprovalCopies, SealedApprovals, SealedVerdict } from '../access/sealed-approvals.ts';
import type { NameStore } from '../core/name.ts';
import type { WebhookLink, WebhookLinkStore } from '../core/webhook-link.ts';
import type { ApprovalMirror } from './approval-mirror.ts';
import type { WebhookApprovals } from './approvals.ts';
import { WebhookCallFailed } from './call-failed.ts';
import { RETRY_AFTER_SECONDS } from './outages.ts';

/** PROTOCOL.md APR-06: what a webhook answers to a use that it would refuse anyway. */
export const REFUSALS: ReadonlySet<string | undefined> = new Set([
  'NOT_FOUND',
  'DELIVERY_NOT_ALLOWED',
  'DESTINATION_NOT_ALLOWED',
  'REQUEST_NOT_ALLOWED',
  'INVALID_REQUEST',
]);
const TOO_MANY: SealedVerdict = { kind: 'open', open: undefined };
const NOT_REQUIRED: SealedVerdict = { kind: 'not_required' };
/** Questions of one account that are under way: the rest of a flood is told to come back. */
const MAX_ASKED_AT_ONCE = 20;

/** Asks an account's webhook for approvals, and keeps its answers for people to see and for waiting requests. */
export function createSealedApprovals(options: {
  readonly webhook: WebhookApprovals;
  readonly links: Pick<WebhookLinkStore, 'find'>;
  readonly names: NameStore;
  readonly copies: SealedApprovalCopies;
  readonly mirror: ApprovalMirror;
  readonly logger: Logger;
}): SealedApprovals & { readonly learnStates: LearnStates } {
  const { webhook, links, names, copies, mirror, logger } = options;
  const atOnce = createConcurrencyLimit(MAX_ASKED_AT_ONCE);
  const underWay = new Map<string, Promise<SealedVerdict>>();

  const ask = async (
    link: WebhookLink,
    asked: ApprovalAsked,
    operation: RequestedOperation,
  ): Promise<SealedVerdict> => {
    const { vaultId, caller, serviceName, reason } = asked;
    const name = (await names.of(vaultId, [caller.id])).get(caller.id);
    const about = { serviceName, sub: caller.id, operation };
    const words = {
      ...(name !== undefined && { name: name.slice(0, APPROVAL_LIMITS.nameCharacters).toWellFormed() }),
      ...(reason !== undefined && { reason }),
    };
    const answer = await webhook.ask(link, { ...about, ...words });
    const isNeeded = 'id' in answer;
    await mirror.noteOperation(vaultId, serviceName, operation.type, isNeeded);
    if (!isNeeded) return NOT_REQUIRED;
    const open = await copies.keep(asked, answer);
    return answer.status === 'approved' ? { kind: 'approved' } : { kind: 'open', open };
  };

  const verdictOf = (error: unknown, vaultId: Id<'vlt'>): SealedVerdict => {
    if (!(error instanceof WebhookCallFailed)) throw error;
    const { failure, code, retryAfterSeconds = RETRY_AFTER_SECONDS } = error;
    if (failure === 'refused' && code === 'RATE_LIMITED') return TOO_MANY;
    if (failure === 'refused' && REFUSALS.has(code)) return { kind: 'refused' };
    logger.warn({ vaultId, err: error }, 'a webhook could not be asked for an approval');
    return { kind: 'unavailable', retryAfterSeconds };
  };

  return {
    ask: async (asked, operation, isKnown) => {
      const { vaultId } = asked;
      const link = await links.find(vaultId);
      if (link === undefined) return { kind: 'unavailable', retryAfterSeconds: RETRY_AFTER_SECONDS };
      if (!isKnown && !link.capabilities.includes('approvals')) return NOT_REQUIRED;
      // The same question at the same time is one.
      const key = JSON.stringify([vaultId, asked.caller.id, asked.serviceName, operation]);
      const same = underWay.get(key);
      if (same !== undefined) return same;
      const leave = atOnce.take(vaultId);
      // Where none may be needed, the webhook refuses the use itself if one is.
      if (leave === undefined) return isKnown ? TOO_MANY : NOT_REQUIRED;
      const asking = ask(link, asked, operation)
        .catch((error: unknown) => verdictOf(error, vaultId))
        .finally(() => {
          underWay.delete(key);
          leave();
        });
      underWay.set(key, asking);
      return asking;
    },
    learnStates: async (vaultId, ids) => {
      const link = await links.find(vaultId);
      if (link === undefined) return;
      const states = await webhook.states(link, ids).catch((error: unknown) => {
        if (!(error instanceof WebhookCallFailed)) throw error;
        return [];
      });
      await copies.learn(vaultId, states);
    },
  };
}
