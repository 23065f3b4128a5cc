import { type Clock, type Id, parseTime } from '@svault/shared';
import { type AuditItem, storageAnswerSchemas } from '@svault/shared/schemas';
import type { AuditEvent } from '../core/audit-event.ts';
import type { WebhookLink, WebhookLinkStore } from '../core/webhook-link.ts';
import { WebhookCallFailed } from './call-failed.ts';
import type { WebhookClient } from './retrying-client.ts';

/**
 * What became of an issued ticket, by the webhook's own log.
 *
 * - `delivered`: the webhook delivered the credential, or put it into a call of an upstream
 * - `failed`: the webhook refused, or the call of the upstream failed, with `code` where its log says one; or the ticket of a
 *   proxied call expired without having reached the webhook: `WEBHOOK_UNAVAILABLE`
 * - `pending`: not used, and still valid
 * - `not_fetched`: not used by whoever got it, and expired
 * - `unknown`: the webhook does not answer, is another one than then, or its newest entries do not reach back that far
 */
export const TICKET_OUTCOMES = ['delivered', 'failed', 'pending', 'not_fetched', 'unknown'] as const;

export interface TicketOutcome {
  readonly status: (typeof TICKET_OUTCOMES)[number];
  readonly code?: string;
  readonly at?: string;
}

export type TicketOutcomes = ReturnType<typeof createTicketOutcomes>;

/** Its ticket is nobody's to fetch: this service itself takes it to the webhook. */
const PROXY_USE = 'PROXY_CREDENTIAL_USE';
const TICKET_EVENTS: readonly string[] = ['AGENT_CREDENTIAL_ACCESS', 'OWNER_CREDENTIAL_ACCESS', PROXY_USE];
/** A minute, and the skew of clocks that the webhook allows (PROTOCOL.md TIX-18). */
const TICKET_MS = 90_000;
/** Newest entries that are read of one agent's use of a service, or of everybody's: half are the webhook's copies of our events. */
const ENTRIES = 50;
/** Calls for one page of the log. */
const MAX_CALLS = 5;
const UNKNOWN: TicketOutcome = { status: 'unknown' };

export function createTicketOutcomes(options: {
  readonly links: Pick<WebhookLinkStore, 'find'>;
  readonly webhook: WebhookClient;
  readonly clock: Pick<Clock, 'now'>;
}) {
  const { links, webhook, clock } = options;

  const entriesAbout = async (link: WebhookLink, { agentId, serviceName }: AuditEvent) => {
    const body = { op: 'audit.list', limit: ENTRIES, agentId, serviceName };
    const answer = await webhook.call(link, { path: '/v1/storage', body });
    return storageAnswerSchemas['audit.list'].safeParse(answer.body).data?.items;
  };

  return {
    /** @returns by the id of each event that issued a ticket; no more than a few calls, and none where nothing asks for one */
    of: async (
      vaultId: Id<'vlt'>,
      events: readonly AuditEvent[],
    ): Promise<ReadonlyMap<string, TicketOutcome>> => {
      const issued = events.filter(
        ({ eventType, outcome, serviceName }) =>
          outcome === 'success' && serviceName !== undefined && TICKET_EVENTS.includes(eventType),
      );
      const link = issued.length === 0 ? undefined : await links.find(vaultId);
      const known = new Map<string, readonly AuditItem[] | undefined>();
      const outcomes = new Map<string, TicketOutcome>();
      for (const event of issued) {
        const about = `${event.agentId ?? ''} ${event.serviceName}`;
        if (link !== undefined && !known.has(about) && known.size < MAX_CALLS)
          known.set(
            about,
            await entriesAbout(link, event).catch((error: unknown) => {
              if (error instanceof WebhookCallFailed) return undefined;
              throw error;
            }),
          );
        const entries = event.timestamp < (link?.boundAt ?? '') ? undefined : known.get(about);
        outcomes.set(event.id, entries === undefined ? UNKNOWN : outcomeIn(entries, event, clock.now()));
      }
      return outcomes;
    },
  };
}

/** @param entries newest first */
function outcomeIn(entries: readonly AuditItem[], event: AuditEvent, nowMs: number): TicketOutcome {
  const ticketId = event.origin?.requestId;
  if (ticketId === undefined) return UNKNOWN;
  // A proxied call is made once more after a refresh, and a failed one has two entries (PROTOCOL.md STO-41): the newest counts.
  const ids: readonly unknown[] = [ticketId, `${ticketId}-2`];
  const use = entries.find(({ source, detail }) => source === 'webhook' && ids.includes(detail?.['jti']));
  if (use?.outcome === 'success') return { status: 'delivered', at: use.timestamp };
  if (use !== undefined) {
    const code = use.detail?.['code'];
    return { status: 'failed', at: use.timestamp, ...(typeof code === 'string' && { code }) };
  }
  const issuedMs = parseTime(event.timestamp) ?? 0;
  if (nowMs < issuedMs + TICKET_MS) return { status: 'pending' };
  const oldest = entries.at(-1);
  const reachesBack =
    entries.length < ENTRIES || (parseTime(oldest?.timestamp ?? '') ?? 0) < issuedMs - TICKET_MS;
  if (!reachesBack) return UNKNOWN;
  return event.eventType === PROXY_USE
    ? { status: 'failed', code: 'WEBHOOK_UNAVAILABLE' }
    : { status: 'not_fetched' };
}
