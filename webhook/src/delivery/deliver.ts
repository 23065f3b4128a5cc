import type { GroupCommit } from '@svault/server-kit/group-commit';
import type { Clock, CredentialTicket } from '@svault/shared';
import type { AuditLog, OwnEvent } from '../audit/audit-log.ts';
import { subjectOf } from '../audit/subject.ts';
import { refusal } from '../http/errors.ts';
import type { OpenRecord, Vault } from '../vault/vault.ts';
import { envelopeOf } from './credential-envelope.ts';
import { type DeliveryDecision, decideDelivery } from './delivery-decision.ts';
import { sealFor } from './sealed-delivery.ts';

/** A verified ticket, not used up yet. */
export interface UsableTicket<Refusal extends string> {
  readonly ticket: CredentialTicket;
  /** Uses it up inside an open transaction. */
  useNow(): 'admitted' | Refusal;
}

/** What goes out: the body's text and its type. */
export interface Delivered {
  readonly contentType: string;
  readonly body: string;
}

export type Deliver = <Refusal extends string>(
  usable: UsableTicket<Refusal>,
) => Promise<Delivered | { readonly unusable: Refusal }>;

const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * Delivers a credential. The ticket is used up and the use is written into the log in one commit, and nothing goes out
 * before that commit is on the disk; a refusal uses the ticket up and is written just the same.
 *
 * @throws from the returned function, AppError NOT_FOUND, DELIVERY_NOT_ALLOWED, EMPTY_TOKEN, REFRESH_NEEDED,
 *   PROVIDER_ERROR
 */
export function createDeliver(deps: {
  readonly vault: Pick<Vault, 'open'>;
  readonly audit: Pick<AuditLog, 'appendNow'>;
  readonly commit: GroupCommit;
  readonly clock: Clock;
}): Deliver {
  const { vault, audit, commit, clock } = deps;

  const prepare = (ticket: CredentialTicket): Prepared => {
    try {
      const record = vault.open(ticket.svc);
      const decision = decideDelivery(record?.settings, ticket, clock.now());
      const event = eventOf(ticket, decision, record?.version);
      return { event, finish: () => finish(record, decision, ticket) };
    } catch (error) {
      // Such as a record that was changed outside this program: the ticket is used up all the same.
      const event = { ...useOf(ticket), outcome: 'error', detail: { jti: ticket.jti } } as const;
      const rethrow = (): never => {
        throw error;
      };
      return { event, finish: rethrow };
    }
  };

  return async (usable) => {
    const { event, finish: deliver } = prepare(usable.ticket);
    const admission = await commit.run(() => {
      const outcome = usable.useNow();
      if (outcome === 'admitted') audit.appendNow(event);
      return outcome;
    });
    return admission === 'admitted' ? deliver() : { unusable: admission };
  };
}

/** Everything that is decided before the commit. */
interface Prepared {
  readonly event: OwnEvent;
  /** What is left to do once the use is on the disk. */
  readonly finish: () => Promise<Delivered>;
}

async function finish(
  record: OpenRecord | undefined,
  decision: DeliveryDecision,
  ticket: CredentialTicket,
): Promise<Delivered> {
  if (record === undefined || decision.how === 'refused') throw refusalOf(decision);
  const json = JSON.stringify(envelopeOf(record, ticket));
  if (decision.how === 'plain') return { contentType: JSON_TYPE, body: json };
  const body = await sealFor(decision.recipient, decision.thumbprint, json);
  return { contentType: 'application/jose', body };
}

function eventOf(
  ticket: CredentialTicket,
  decision: DeliveryDecision,
  version: number | undefined,
): OwnEvent {
  const { jti, gnt, rfp } = ticket;
  const told = { jti, gnt, rfp, version };
  if (decision.how === 'refused')
    return { ...useOf(ticket), outcome: 'denied', detail: { ...told, code: decision.code } };
  const jkt = decision.how === 'sealed' ? decision.thumbprint : undefined;
  return { ...useOf(ticket), outcome: 'success', detail: { ...told, how: decision.how, jkt } };
}

function useOf({ svc, sub }: CredentialTicket): Omit<OwnEvent, 'outcome'> {
  return { eventType: 'CREDENTIAL_DELIVERED', serviceName: svc, ...subjectOf(sub) };
}

function refusalOf(decision: DeliveryDecision): Error {
  if (decision.how !== 'refused') return refusal('NOT_FOUND', 'there is no credential of that name');
  const { code, message, retryAfterSeconds } = decision;
  return refusal(code, message, {
    ...(retryAfterSeconds !== undefined && { details: { retryAfter: retryAfterSeconds } }),
  });
}
