import { type Clock, type Id, formatTime } from '@svault/shared';
import { copiedEvent } from '@svault/shared/audit-chain';
import {
  STORAGE_LIMITS,
  auditHeadSchema,
  storageAnswerSchemas,
  storageBatchAnswerSchema,
} from '@svault/shared/schemas';
import * as z from 'zod';
import type { AuditEvent } from '../core/audit-event.ts';
import { type LogHead, type WebhookLinkStore, contradictionBetween } from '../core/webhook-link.ts';
import type { UnitOfWork } from '../core/stores.ts';
import { WebhookCallFailed } from './call-failed.ts';
import type { MissedUses } from './missed-uses.ts';
import type { WebhookClient } from './retrying-client.ts';

interface Shipment {
  readonly vaultId: Id<'vlt'>;
  /** The vault's cursor; retention may have deleted events between it and the first of these. */
  readonly shippedSeq: number;
  /** At least one. */
  readonly events: readonly AuditEvent[];
}

export type AuditDestination = ReturnType<typeof createAuditDelivery>;

/**
 * Sends events to a vault's webhook by `audit.append`, and reads the head of the webhook's own log in the same call:
 * a log that was cut or rewritten shows there (PROTOCOL.md STO-36).
 */
export function createAuditDelivery(options: {
  readonly links: Pick<WebhookLinkStore, 'find'>;
  readonly webhook: WebhookClient;
  readonly unitOfWork: UnitOfWork;
  /** Compares the logs before a head is remembered; where none of this log can be lost, undefined. */
  readonly missedUses?: Pick<MissedUses, 'recover'> | undefined;
  readonly clock: Clock;
}) {
  const { links, webhook, unitOfWork, missedUses, clock } = options;
  return {
    /**
     * Delivers events in order and records the delivery durably. Delivering an event twice is harmless.
     *
     * @returns false where no webhook is bound any more
     * @throws where not all were accepted; then none counts as delivered
     */
    deliver: async ({ vaultId, shippedSeq, events }: Shipment, signal: AbortSignal): Promise<boolean> => {
      const link = await links.find(vaultId);
      const last = events.at(-1);
      // Unbound a moment ago: the events wait for the next webhook.
      if (link === undefined || last === undefined) return false;
      await missedUses?.recover(link, signal);
      const append = { op: 'audit.append', events: events.map(copiedEvent) };
      const batch = [append, { op: 'audit.list', limit: 1 }];
      const { body, latencyMs } = await webhook.call(link, { path: '/v1/storage', body: { batch }, signal });
      const head = readResults(body, events.length);
      const at = formatTime(clock.now());
      await unitOfWork.run(vaultId, async ({ audit, proxies, webhookLinks }) => {
        const { webhookId } = link;
        // Another process was faster, and may have seen a later head.
        if (!(await audit.markShipped(vaultId, shippedSeq, last.seq))) return;
        await webhookLinks.noteSeen(link, { at, latencyMs });
        const known = await webhookLinks.logHead(vaultId, webhookId);
        const contradiction = contradictionBetween(known, head);
        // A restored webhook may hold proxy settings of an earlier day: they are all sent again.
        if (contradiction !== undefined) await proxies.forgetDeliveries(vaultId);
        // The report is an event too: a webhook that contradicts itself in each call would cause one report by the last.
        // The new head stays unknown, so the next event of another type reports it.
        if (contradiction !== undefined && events.every(isReport)) return;
        await webhookLinks.rememberLogHead(vaultId, webhookId, head, at);
        if (known === undefined || contradiction === undefined) return;
        await audit.append({
          vaultId,
          eventType: 'WEBHOOK_LOG_CONTRADICTION',
          outcome: 'error',
          detail: { webhookId, contradiction, ...flat('known', known), ...flat('seen', head) },
        });
      });
      return true;
    },
  };
}

const isReport = ({ eventType }: AuditEvent): boolean => eventType === 'WEBHOOK_LOG_CONTRADICTION';

const flat = (prefix: 'known' | 'seen', { epoch, seq, hash }: LogHead): Record<string, string | number> => ({
  [`${prefix}Epoch`]: epoch,
  [`${prefix}Seq`]: seq,
  [`${prefix}Hash`]: hash,
});

const headOnlySchema = z.object({ head: auditHeadSchema });

/** An operation of a batch that was refused. */
const refusedSchema = z.looseObject({
  code: z.string(),
  retryAfter: z.int().min(1).optional().catch(undefined),
});

/** Characters of an answer that an error quotes, so that a webhook cannot fill the log. */
const MAX_QUOTED = 300;

/** @returns the head of the webhook's log @throws WebhookCallFailed where not every event was accepted */
function readResults(body: Record<string, unknown>, sent: number): LogHead {
  const [appended, listed] = storageBatchAnswerSchema.safeParse(body).data?.results ?? [];
  const accepted = storageAnswerSchemas['audit.append'].safeParse(appended);
  const list = headOnlySchema.safeParse(listed);
  if (
    refusalCodeOf(appended) === 'RATE_LIMITED' ||
    !accepted.success ||
    !list.success ||
    accepted.data.accepted !== sent
  )
    throw failureOf(appended, `the webhook did not take ${sent} events`);
  const { head } = list.data;
  if (!isStorable(head.epoch) || !isStorable(head.hash))
    throw new WebhookCallFailed('garbage', 'the head of the webhook’s log is text that no database stores');
  return head;
}

/** The code of an operation in a batch that was refused. */
export const refusalCodeOf = (result: unknown): string | undefined =>
  refusedSchema.safeParse(result).data?.code;

/** Of an operation in a batch that did not succeed. @param what the webhook did not do */
export function failureOf(result: unknown, what: string): WebhookCallFailed {
  const { code, retryAfter } = refusedSchema.safeParse(result).data ?? {};
  if (code === 'RATE_LIMITED')
    return new WebhookCallFailed('refused', 'the webhook takes no more events for now', {
      code,
      ...(retryAfter !== undefined && { retryAfterSeconds: retryAfter }),
    });
  return new WebhookCallFailed(
    'garbage',
    `${what}: ${(JSON.stringify(result) ?? 'no result').slice(0, MAX_QUOTED)}`,
  );
}

/** A database changes half a surrogate pair, and PostgreSQL rejects NUL: the stored head would differ from the next one. */
const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

/** PROTOCOL.md section 2: a body has up to 1 MiB, of which this leaves room for the members around the events. */
export const MAX_BATCH_BYTES = 1024 * 1024 - 4096;

/**
 * The first events, as many as one `audit.append` takes; at least one.
 *
 * @param events in the order of their `seq`
 */
export function cutBatch(events: readonly AuditEvent[]): readonly AuditEvent[] {
  let bytes = 0;
  for (const [index, event] of events.entries()) {
    bytes += maxBytesOf(event);
    if (index > 0 && (bytes > MAX_BATCH_BYTES || index === STORAGE_LIMITS.auditEvents))
      return events.slice(0, index);
  }
  return events;
}

/** Ids, type, time and member names. */
const FIXED_BYTES = 640;
/** JSON escapes a character in up to six bytes (`\\u0000`); UTF-8 takes up to three. */
const BYTES_PER_CHARACTER = 6;

/** An upper bound: serialising an event to measure it would double the cost of shipping. */
function maxBytesOf({ serviceName = '', detail, origin }: AuditEvent): number {
  const detailBytes =
    detail === undefined && origin === undefined
      ? 0
      : Buffer.byteLength(JSON.stringify({ ...detail, origin }));
  return FIXED_BYTES + serviceName.length * BYTES_PER_CHARACTER + detailBytes;
}
