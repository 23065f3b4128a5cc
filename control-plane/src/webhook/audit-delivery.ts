import { type Clock, formatTime } from '@svault/shared';
import {
  type AuditEvent as WireAuditEvent,
  auditHeadSchema,
  storageAnswerSchemas,
  storageBatchAnswerSchema,
} from '@svault/shared/schemas';
import { z } from 'zod';
import { type AuditEvent, withTakeableText } from '../core/audit-event.ts';
import {
  type LogHead,
  type WebhookLink,
  type WebhookLinkStore,
  contradictionBetween,
} from '../core/webhook-link.ts';
import type { UnitOfWork } from '../core/stores.ts';
import { WebhookCallFailed } from './call-failed.ts';
import type { LinkedWebhook } from './retrying-client.ts';
import type { AuditDestination } from './audit-shipper.ts';

/**
 * Hands events to a vault's webhook by `audit.append`, and looks in the same call where the webhook's own log stands:
 * a log that was cut or rewritten shows there (protocol.md 5.3).
 */
export function createAuditDelivery(options: {
  readonly links: Pick<WebhookLinkStore, 'find'>;
  readonly webhook: LinkedWebhook;
  readonly unitOfWork: UnitOfWork;
  readonly clock: Clock;
}): AuditDestination {
  const { links, webhook, unitOfWork, clock } = options;

  const send = async (
    link: WebhookLink,
    events: readonly AuditEvent[],
    signal: AbortSignal,
  ): Promise<{ readonly head: LogHead; readonly latencyMs: number }> => {
    const append = { op: 'audit.append', events: events.map(toWireEvent) };
    const batch = [append, { op: 'audit.list', limit: 1 }];
    // What is not taken is sent again by the shipper, after pauses of its own.
    const call = { path: '/v1/storage', body: { batch }, repeat: false, signal } as const;
    const { body, latencyMs } = await webhook.call(link, call);
    return { head: readResults(body, events.length), latencyMs };
  };

  return {
    deliver: async ({ vaultId, shippedSeq, events }, signal) => {
      const link = await links.find(vaultId);
      const last = events.at(-1);
      // Unbound a moment ago: the events wait for the next webhook.
      if (link === undefined || last === undefined) return false;
      const { head, latencyMs } = await send(link, events, signal);
      const at = formatTime(clock.now());
      await unitOfWork.run(vaultId, async ({ audit, proxies, webhookLinks }) => {
        const { webhookId } = link;
        // Another process was faster, and may have seen a later head than this one.
        if (!(await audit.markShipped(vaultId, shippedSeq, last.seq))) return;
        await webhookLinks.noteSeen(link, { at, latencyMs });
        const known = await webhookLinks.logHead(vaultId, webhookId);
        const contradiction = contradictionBetween(known, head);
        // What it kept of proxies may be of an earlier day too, and none of it is missing.
        if (contradiction !== undefined) await proxies.forgetDeliveries(vaultId);
        // A report is shipped as well: a webhook that contradicts itself at each call would make one of each. What is new
        // here stands out again with the next event of another kind.
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

/** All that is wanted of `audit.list`. */
const headOnlySchema = z.object({ head: auditHeadSchema });

/** Characters of an answer that the log quotes: a webhook must not fill it. */
const MAX_QUOTED = 300;

/** An operation of a batch that was refused. */
const refusedSchema = z.looseObject({
  code: z.string(),
  retryAfter: z.int().min(1).optional().catch(undefined),
});

/** @returns the head of the webhook's log @throws WebhookCallFailed where not every event was taken */
function readResults(body: Record<string, unknown>, sent: number): LogHead {
  const [appended, listed] = storageBatchAnswerSchema.safeParse(body).data?.results ?? [];
  const accepted = storageAnswerSchemas['audit.append'].safeParse(appended);
  const list = headOnlySchema.safeParse(listed);
  const { code, retryAfter } = refusedSchema.safeParse(appended).data ?? {};
  if (code === 'RATE_LIMITED')
    throw new WebhookCallFailed('refused', 'the webhook takes no more events for now', {
      code,
      ...(retryAfter !== undefined && { retryAfterSeconds: retryAfter }),
    });
  if (!accepted.success || !list.success || accepted.data.accepted !== sent)
    throw new WebhookCallFailed(
      'garbage',
      `the webhook did not take ${sent} events: ${(JSON.stringify(appended) ?? 'no result').slice(0, MAX_QUOTED)}`,
    );
  const { head } = list.data;
  if (!isText(head.epoch) || !isText(head.hash))
    throw new WebhookCallFailed('garbage', 'the head of the webhook’s log is no text that can be kept');
  return head;
}

/** No database keeps half a surrogate pair as it is, PostgreSQL no NUL: what was kept would contradict what was sent. */
const isText = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

/** protocol.md 5.3: most events of one `audit.append`. */
export const MAX_BATCH_EVENTS = 500;
/** protocol.md section 2: the body within 1 MiB; what stands around the events fits into the difference. */
const MAX_BATCH_BYTES = 1024 * 1024 - 4096;

/** An event as it travels. Its place in our chain stays here: the webhook gives it one in its own. */
export function toWireEvent(event: AuditEvent): WireAuditEvent {
  const { id, eventType, timestamp, outcome, agentId, proxyId, userId, serviceName, count, detail } = event;
  return {
    id,
    eventType,
    timestamp,
    outcome,
    ...(agentId !== undefined && { agentId }),
    ...(proxyId !== undefined && { proxyId }),
    ...(userId !== undefined && { userId }),
    ...(serviceName !== undefined && { serviceName }),
    ...(count !== undefined && { count }),
    // Events from before this was looked at when they are written.
    ...(detail !== undefined && { detail: withTakeableText(detail) }),
  };
}

/**
 * As many of the events, from the first on, as one `audit.append` takes; at least one.
 *
 * @param events in the order of their numbers
 */
export function cutBatch(events: readonly AuditEvent[]): readonly AuditEvent[] {
  let bytes = 0;
  for (const [index, event] of events.entries()) {
    bytes += bytesAtMost(event);
    if (index > 0 && (bytes > MAX_BATCH_BYTES || index === MAX_BATCH_EVENTS)) return events.slice(0, index);
  }
  return events;
}

/** Ids, type, time and member names, generously. */
const FIXED_BYTES = 640;
/** JSON writes one character as up to six (`\\u0000`), UTF-8 as up to three. */
const BYTES_PER_CHARACTER = 6;

/** An upper bound, since writing an event only to measure it would double the cost of shipping it. */
function bytesAtMost({ serviceName = '', detail }: AuditEvent): number {
  const detailBytes = detail === undefined ? 0 : Buffer.byteLength(JSON.stringify(detail));
  return FIXED_BYTES + serviceName.length * BYTES_PER_CHARACTER + detailBytes;
}
