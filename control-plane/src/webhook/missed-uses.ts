import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from '@svault/server-kit/logger';
import { createSingleFlight } from '@svault/server-kit/single-flight';
import { type Clock, type Id, isId, parseTime, systemClock, timeOfId } from '@svault/shared';
import { type AuditItem, storageAnswerSchemas } from '@svault/shared/schemas';
import type { NewAuditEvent } from '../core/audit-event.ts';
import type { AuditStore } from '../core/audit-store.ts';
import type { UnitOfWork } from '../core/stores.ts';
import type { LogHead, WebhookLink, WebhookLinkStore } from '../core/webhook-link.ts';
import { createAccountTasks, loggedReports } from './account-tasks.ts';
import { WebhookCallFailed, garbage } from './call-failed.ts';
import type { WebhookClient } from './retrying-client.ts';

/** PROTOCOL.md section 5.3: the most that `audit.list` answers. */
const PAGE = 100;
/** Of the webhook's log: all that a crash leaves out is among its newest entries. */
const MAX_PAGES = 200;
/** A webhook that takes longer must not keep a place from the shipments of others. */
const MAX_LISTING_MS = 20_000;
const ROWS_PER_SCAN = 500;
const MAX_SCANS = 400;
const EVENTS_PER_WRITE = 200;
/** Between a request and its event: its body, a wait for the limiter, a clock that was set a little. */
const MARGIN_MS = 2 * 60_000;

/** An injected use by the webhook's own log. */
interface Use {
  readonly requestId: Id<'req'>;
  readonly proxyId: Id<'prx'>;
  readonly serviceName: string;
  /** By the webhook's clock. */
  readonly usedAt: string;
}

/**
 * Writes down uses of proxies that this log has lost and the webhook's has. A proxied call is sent as soon as its event is
 * committed, so a power cut can take events of calls that the webhook had already carried out.
 *
 * Whatever the webhook logged up to its remembered head is in this log: a head is written after the events of the calls that
 * it covers, and a power cut takes only what was written last. So the entries beyond that head are compared, once for each
 * webhook and process, before a newer head is remembered.
 *
 * A webhook can invent entries. They are written into the log of its own account only, and only for the time between its
 * binding and the start of this process, whose own events cannot be lost: no owner can have a log filled by binding anew.
 */
export type MissedUses = ReturnType<typeof createMissedUses>;

export function createMissedUses(options: {
  readonly links: Pick<WebhookLinkStore, 'logHead'>;
  readonly log: Pick<AuditStore, 'scan'>;
  readonly webhook: WebhookClient;
  readonly unitOfWork: UnitOfWork;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
}) {
  const { links, log, webhook, unitOfWork, clock, logger } = options;
  const startedMs = systemClock.monotonic();
  const compared = new Set<string>();
  const once = createSingleFlight<void>();

  /** By the clock of request ids as it is set now, so that one which was set after the start misses nothing. */
  const lastLostMs = (): number => systemClock.now() - (systemClock.monotonic() - startedMs) + MARGIN_MS;

  /** @returns oldest first, one for each request */
  const usesBeyond = async (
    link: WebhookLink,
    known: LogHead | undefined,
    signal: AbortSignal,
  ): Promise<readonly Use[]> => {
    const uses = new Map<string, Use>();
    let cursor: string | undefined;
    const beganMs = clock.monotonic();
    const until = lastLostMs();
    for (let page = 0; page < MAX_PAGES; page++) {
      const body = { op: 'audit.list', limit: PAGE, ...(cursor !== undefined && { cursor }) };
      const answer = await webhook.call(link, { path: '/v1/storage', body, signal });
      const list = storageAnswerSchemas['audit.list'].safeParse(answer.body).data;
      if (list === undefined) throw garbage('audit.list');
      // A webhook that was restored has lost entries itself; the next shipment reports it.
      if (known !== undefined && list.head.epoch !== known.epoch) return [];
      const beyond = list.items.filter(({ seq }) => known === undefined || seq > known.seq);
      for (const item of beyond) {
        const use = useIn(item, link);
        if (use !== undefined && timeOfId(use.requestId) <= until) uses.set(use.requestId, use);
      }
      if (clock.monotonic() - beganMs > MAX_LISTING_MS)
        throw new WebhookCallFailed('unreachable', 'the webhook lists its log too slowly', { isLate: true });
      cursor = list.nextCursor;
      if (cursor === undefined || beyond.length < list.items.length) return [...uses.values()].reverse();
    }
    logger.warn(
      { vaultId: link.vaultId, entries: MAX_PAGES * PAGE },
      'the webhook’s log was compared with this one only in its newest entries',
    );
    return [...uses.values()].reverse();
  };

  /** @returns those that no event of this log is about */
  const missing = async (vaultId: Id<'vlt'>, uses: readonly Use[]): Promise<readonly Use[]> => {
    const unseen = new Map(uses.map((use) => [use.requestId as string, use]));
    const from = Math.min(...uses.map(({ requestId }) => timeOfId(requestId))) - MARGIN_MS;
    let before: number | undefined;
    let readBackTo = Infinity;
    for (let scans = 0; scans < MAX_SCANS && unseen.size > 0 && readBackTo >= from; scans++) {
      const { events, reached } = await log.scan(vaultId, {}, { limit: ROWS_PER_SCAN, before });
      for (const { origin, timestamp } of events) {
        if (origin?.requestId !== undefined) unseen.delete(origin.requestId);
        readBackTo = parseTime(timestamp) ?? readBackTo;
      }
      // What is older than the oldest event, retention has removed.
      if (reached === undefined)
        return [...unseen.values()].filter(({ requestId }) => timeOfId(requestId) >= readBackTo);
      before = reached;
      await nextTurn();
    }
    // Of what is older than the rows that were read nobody knows.
    return [...unseen.values()].filter(({ requestId }) => timeOfId(requestId) - MARGIN_MS >= readBackTo);
  };

  const recover = async (link: WebhookLink, signal: AbortSignal): Promise<void> => {
    const { vaultId, webhookId, boundAt } = link;
    if ((parseTime(boundAt) ?? 0) > lastLostMs()) return;
    const known = await links.logHead(vaultId, webhookId);
    const uses = await usesBeyond(link, known, signal);
    const missed = uses.length === 0 ? [] : await missing(vaultId, uses);
    for (let at = 0; at < missed.length; at += EVENTS_PER_WRITE) {
      const events = missed.slice(at, at + EVENTS_PER_WRITE).map((use) => recoveredEvent(vaultId, use));
      await unitOfWork.run(vaultId, ({ audit }) => audit.appendAll(events));
    }
    if (missed.length > 0)
      logger.warn(
        { vaultId, events: missed.length },
        'the webhook’s log has uses of proxies that this log had lost; they were written again',
      );
  };

  return {
    /**
     * Compares the two logs, the first time in this process, and does nothing later.
     *
     * @throws WebhookCallFailed; then the next call tries again
     */
    recover: (link: WebhookLink, signal: AbortSignal): Promise<void> => {
      const key = `${link.vaultId} ${link.webhookId}`;
      if (compared.has(key)) return Promise.resolve();
      return once(key, async () => {
        await recover(link, signal);
        compared.add(key);
      });
    },
  };
}

const VAULTS_AT_ONCE = 20;
/** No second try here: it is made before the next shipment. */
const PAUSES = { firstPauseMs: 1_000, maxPauseMs: 1_000 };

/**
 * Compares the logs of all accounts, once. An account whose webhook does not answer, or whose vault is locked, is compared
 * before its next event is shipped.
 */
export function createMissedUsesRecovery(options: {
  readonly links: Pick<WebhookLinkStore, 'ofOpenVaults'>;
  readonly missedUses: Pick<MissedUses, 'recover'>;
  readonly clock: Clock;
  readonly logger: Logger;
}) {
  const { links, missedUses, clock, logger } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const tasks = createAccountTasks({ clock, ...PAUSES });
  let isDone = false;
  return {
    run: async (): Promise<void> => {
      let after: Id<'vlt'> | undefined;
      while (!isDone && !signal.aborted) {
        const page = await links.ofOpenVaults({ after, limit: VAULTS_AT_ONCE });
        for (const link of page)
          tasks.start(
            link.vaultId,
            () =>
              missedUses.recover(link, signal).catch((error: unknown) => {
                if (!signal.aborted) throw error;
              }),
            loggedReports(logger, link.vaultId, { failed: 'the log of a webhook could not be compared' }),
          );
        await tasks.settled();
        after = page.at(-1)?.vaultId;
        isDone = page.length < VAULTS_AT_ONCE;
      }
    },
    /** Aborts the calls in flight. */
    stop: (): void => stopping.abort(),
  };
}

/** A second call of the same request has its id with this (`via-webhook.ts`). */
const SECOND_CALL = /-2$/;

/** @returns undefined for another entry, and for one of an earlier binding */
function useIn(
  { source, outcome, proxyId, serviceName, timestamp, detail }: AuditItem,
  { boundAt }: WebhookLink,
): Use | undefined {
  const ticketId = detail?.['jti'];
  if (source !== 'webhook' || outcome !== 'success' || typeof ticketId !== 'string') return undefined;
  const requestId = ticketId.replace(SECOND_CALL, '');
  if (!isId('req', requestId) || !isId('prx', proxyId) || serviceName === undefined) return undefined;
  if (timeOfId(requestId) < (parseTime(boundAt) ?? 0)) return undefined;
  return { requestId, proxyId, serviceName, usedAt: timestamp };
}

const recoveredEvent = (
  vaultId: Id<'vlt'>,
  { requestId, proxyId, serviceName, usedAt }: Use,
): NewAuditEvent => ({
  vaultId,
  proxyId,
  serviceName,
  eventType: 'PROXY_CREDENTIAL_USE',
  outcome: 'success',
  detail: { recovered: true, usedAt },
  origin: { requestId, channel: 'proxy' },
});
