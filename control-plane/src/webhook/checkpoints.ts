import type { Logger } from '@svault/server-kit/logger';
import { type Clock, type Id, formatTime } from '@svault/shared';
import { CHAIN_START, type ChainHead } from '@svault/shared/audit-chain';
import type { AuditCheckpoint } from '../core/audit-checkpoint.ts';
import type { AuditChain } from '../core/audit-store.ts';
import type { Stores, UnitOfWork } from '../core/stores.ts';
import type { WebhookLink } from '../core/webhook-link.ts';
import { createAccountTasks, loggedReports } from './account-tasks.ts';
import type { CheckpointKeys } from './checkpoint-key.ts';
import { type Page, cosign, cutPage } from './cosigned-checkpoint.ts';
import { type WebhookClient, callHealth, hasCapability } from './retrying-client.ts';

const CAPABILITY = 'audit-checkpoints';
/** So few that hashing them in either program takes a few milliseconds. */
const EVENTS_PER_PAGE = 250;
const ACCOUNTS_PER_ROUND = 50;
/** Between the beginnings of two passes over all accounts. */
const PASS_MS = 60_000;
/** Webhooks without the capability are asked for it in one of so many passes: an update may have added it. */
const PASSES_PER_QUESTION = 60;
const MAX_PAUSE_MS = 10 * 60_000;

/** Has the webhooks cosign the logs of their accounts, each up to the last event that it has acknowledged. */
export function createCheckpointing(options: {
  readonly stores: Pick<Stores, 'audit' | 'auditCheckpoints' | 'webhookLinks'>;
  readonly unitOfWork: UnitOfWork;
  readonly webhook: WebhookClient;
  readonly checkpointKeyOf: CheckpointKeys;
  readonly clock: Clock;
  readonly logger: Logger;
}) {
  const { stores, unitOfWork, webhook, checkpointKeyOf: keyOf, clock, logger } = options;
  const { audit: log, auditCheckpoints: checkpoints, webhookLinks: links } = stores;
  const health = { links, webhook, clock };
  const stopping = new AbortController();
  const { signal } = stopping;
  const tasks = createAccountTasks({ clock, firstPauseMs: PASS_MS, maxPauseMs: MAX_PAUSE_MS });

  const hashAt = async (
    vaultId: Id<'vlt'>,
    { start }: AuditChain,
    seq: number,
  ): Promise<string | undefined> => {
    if (seq === start.seq) return start.hash;
    const [event] = await log.after(vaultId, seq - 1, 1);
    return event?.seq === seq ? event.hash : undefined;
  };
  const pageFrom = async (vaultId: Id<'vlt'>, chain: AuditChain, from: number): Promise<Page> => {
    // Of a broken log too: the webhook refuses it, which is reported.
    const previous = (await hashAt(vaultId, chain, from)) ?? CHAIN_START;
    const limit = Math.min(EVENTS_PER_PAGE, chain.shippedSeq - from);
    const events = limit === 0 ? [] : cutPage(await log.after(vaultId, from, limit));
    if (events.length === 0 && limit > 0) throw new Error(`the audit log ends before event ${from + 1}`);
    const { seq, hash } = events.at(-1) ?? { seq: from, hash: previous };
    return { previous, events, head: { seq, hash } };
  };

  /** Reports an answer once. @param head what was to be cosigned */
  const report = (
    { vaultId, webhookId }: WebhookLink,
    head: ChainHead,
    reason: string,
    found: Readonly<Record<string, string | number>>,
  ): Promise<void> =>
    unitOfWork.run(vaultId, async (transaction) => {
      const refusal = [reason, ...Object.values(found)].join(' ');
      const former = await transaction.auditCheckpoints.find(vaultId, webhookId);
      if (former?.refusal === refusal) return;
      const refused = { ...(former ?? NONE), vaultId, webhookId };
      const refusedAt = formatTime(clock.now());
      await transaction.auditCheckpoints.put({ ...refused, refusal, refusedAt }, refused.size);
      await transaction.audit.append({
        vaultId,
        eventType: 'CHECKPOINT_REFUSED',
        outcome: 'error',
        detail: { webhookId, reason, size: head.seq, hash: head.hash, ...found },
      });
    });

  const cosignLog = async (link: WebhookLink): Promise<void> => {
    const { vaultId, webhookId } = link;
    const chain = await log.chainOf(vaultId);
    let former = await checkpoints.find(vaultId, webhookId);
    let from = beginOf(former, chain);
    const refused = new Set<string>();
    let conflict = {};
    while (!signal.aborted) {
      const page = await pageFrom(vaultId, chain, from);
      const { head } = page;
      const answer = await cosign({ webhook, keyOf }, link, page, signal);
      if ('note' in answer) {
        const { note, webhookKey } = answer;
        if (isOtherKey(former, webhookKey, link)) return report(link, head, 'KEY_CHANGED', { webhookKey });
        const signedAt = formatTime(clock.now());
        const next = { ...NONE, vaultId, webhookId, size: head.seq, note, webhookKey, signedAt };
        const isFirst = await checkpoints.put(next, former?.size ?? 0);
        // Otherwise another process is at it.
        if (!isFirst || head.seq >= chain.shippedSeq) return;
        [former, from] = [next, head.seq];
        continue;
      }
      const { code, known } = answer;
      // Retention has removed events meanwhile, or the webhook was replaced by an older version.
      if (code === 'INVALID_REQUEST') {
        if ((await log.chainOf(vaultId)).start.seq > from) return;
        const seen = await callHealth(health, link);
        await seen.note();
        if (!seen.link.capabilities.includes(CAPABILITY)) return;
      }
      if (known !== undefined) conflict = { webhookSize: known.seq, webhookHash: known.hash };
      const next = await placeAfter(code, known);
      if (next === undefined) return report(link, head, code, conflict);
      // The log has what the webhook cosigned: only the events after it are refused.
      if (refused.has(code))
        return report(link, head, refused.has('INVALID_REQUEST') ? 'INVALID_REQUEST' : code, conflict);
      refused.add(code);
      from = next;
    }

    /** Where to go on: behind what the webhook cosigned, where the log has that too; or with the newest event, of which it has a copy. */
    async function placeAfter(code: string, known: ChainHead | undefined): Promise<number | undefined> {
      if (code === 'INVALID_REQUEST') return Math.max(chain.shippedSeq - 1, chain.start.seq);
      if (known === undefined || known.seq > chain.shippedSeq) return undefined;
      return (await hashAt(vaultId, chain, known.seq)) === known.hash ? known.seq : undefined;
    }
  };

  const run = async (vaultId: Id<'vlt'>, asks: boolean): Promise<void> => {
    try {
      const link = await links.find(vaultId);
      // Unbound a moment ago.
      if (link === undefined) return;
      if (link.capabilities.includes(CAPABILITY) || (asks && (await hasCapability(health, link, CAPABILITY))))
        await cosignLog(link);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  };

  /** The last account of the former round; undefined between two passes. */
  let after: Id<'vlt'> | undefined;
  let nextPassMs = 0;
  let passes = 0;

  return {
    /** Starts a round: a part of a pass over all accounts, one pass a minute. It waits for no webhook. */
    round: async (): Promise<void> => {
      if (after === undefined) {
        if (clock.monotonic() < nextPassMs) return;
        nextPassMs = clock.monotonic() + PASS_MS;
        passes += 1;
      }
      const due = await checkpoints.backlog({ after, limit: ACCOUNTS_PER_ROUND });
      after = due.length === ACCOUNTS_PER_ROUND ? due.at(-1) : undefined;
      const asks = passes % PASSES_PER_QUESTION === 1;
      for (const vaultId of due)
        tasks.start(
          vaultId,
          () => run(vaultId, asks),
          loggedReports(logger, vaultId, {
            failed: 'the webhook cannot cosign the audit log',
            recovered: 'the webhook cosigns the audit log again',
          }),
        );
    },
    settled: tasks.settled,
    /** Aborts the calls in flight; the next process repeats them. */
    stop: async (): Promise<void> => {
      stopping.abort();
      await tasks.settled();
    },
  };
}

const NONE = {
  size: 0,
  note: undefined,
  webhookKey: undefined,
  signedAt: undefined,
  refusal: undefined,
  refusedAt: undefined,
};

/**
 * Behind the last checkpoint. The first one covers a page: of what was sent before, the webhook of an older version or of
 * an earlier binding may lack a copy.
 */
function beginOf(former: AuditCheckpoint | undefined, { start, shippedSeq }: AuditChain): number {
  const from = former?.note === undefined ? shippedSeq - EVENTS_PER_PAGE : Math.min(former.size, shippedSeq);
  return Math.max(from, start.seq);
}

/** Its name may change with the webhook's address; and who binds a webhook anew trusts it anew. */
const isOtherKey = (former: AuditCheckpoint | undefined, key: string, { boundAt }: WebhookLink): boolean =>
  former?.webhookKey !== undefined &&
  (former.signedAt ?? '') >= boundAt &&
  materialOf(former.webhookKey) !== materialOf(key);

/** A verifier key is `NAME+HASH+KEY`; base64 may have a plus. */
const materialOf = (key: string): string => key.split('+').slice(2).join('+');
