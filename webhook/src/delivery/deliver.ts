import type { GroupCommit } from '@svault/server-kit/group-commit';
import { AppError, type CredentialTicket, WEBHOOK_ERROR_STATUS, isWebhookErrorCode } from '@svault/shared';
import type { AuditLog, OwnEvent } from '../audit/audit-log.ts';
import { subjectOf } from '../audit/subject.ts';
import { refusal } from '../errors.ts';
import type { CurrentCredential, CurrentCredentials } from '../vault/current-credential.ts';
import type { Vault } from '../vault/vault.ts';
import { envelopeOf } from './credential-envelope.ts';
import { type Outlet, chooseOutlet } from './outlet.ts';
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

/** Everything that is decided before the entry in the log. */
interface Decided {
  readonly event: OwnEvent;
  /** What is left to do once the entry is on the disk. */
  readonly finish: () => Promise<Delivered>;
}

/** A provider or minter has to be asked first. */
interface Unasked {
  readonly ask: () => Promise<Decided>;
}

/**
 * Delivers a credential. The ticket is used up and the use is written into the log in one commit, and nothing goes out
 * before that commit is on the disk; a refusal uses the ticket up and is written just the same. Where somebody has to be
 * asked, the ticket is used up first, so that it causes one question at most, and the entry follows with what came of it.
 *
 * @throws from the returned function, AppError NOT_FOUND, DELIVERY_NOT_ALLOWED, and those of CurrentCredentials
 */
export function createDeliver(deps: {
  readonly vault: Pick<Vault, 'open'>;
  readonly credentials: CurrentCredentials;
  readonly audit: Pick<AuditLog, 'append' | 'appendNow'>;
  readonly commit: GroupCommit;
}): Deliver {
  const { vault, credentials, audit, commit } = deps;

  const prepare = (ticket: CredentialTicket): Decided | Unasked => {
    let version: number | undefined;
    try {
      const record = vault.open(ticket.svc);
      if (record === undefined) throw refusal('NOT_FOUND', 'there is no credential of that name');
      ({ version } = record);
      const outlet = chooseOutlet(record.settings, ticket);
      const current = credentials.atHand(record, ticket.sub);
      if (current !== undefined) return delivered(ticket, current, outlet);
      const ask = (): Promise<Decided> =>
        credentials.obtain(record, ticket.sub).then(
          (obtained) => delivered(ticket, obtained, outlet),
          (error: unknown) => refused(ticket, error, version),
        );
      return { ask };
    } catch (error) {
      return refused(ticket, error, version);
    }
  };

  return async (usable) => {
    const prepared = prepare(usable.ticket);
    const admission = await commit.run(() => {
      const outcome = usable.useNow();
      if (outcome === 'admitted' && 'event' in prepared) audit.appendNow(prepared.event);
      return outcome;
    });
    if (admission !== 'admitted') return { unusable: admission };
    if ('event' in prepared) return prepared.finish();
    const decided = await prepared.ask();
    await audit.append(decided.event);
    return decided.finish();
  };
}

function delivered(ticket: CredentialTicket, current: CurrentCredential, outlet: Outlet): Decided {
  const { jti, gnt, rfp } = ticket;
  const { version } = current.record;
  const jkt = outlet.how === 'sealed' ? outlet.thumbprint : undefined;
  return {
    event: { ...useOf(ticket), outcome: 'success', detail: { jti, gnt, rfp, version, how: outlet.how, jkt } },
    finish: async () => {
      const json = JSON.stringify(envelopeOf(current, ticket));
      if (outlet.how === 'plain') return { contentType: JSON_TYPE, body: json };
      const body = await sealFor(outlet.recipient, outlet.thumbprint, json);
      return { contentType: 'application/jose', body };
    },
  };
}

/** @param error an AppError, or such as a record that was changed outside this program: the ticket is used up all the same */
function refused(ticket: CredentialTicket, error: unknown, version: number | undefined): Decided {
  const { jti, gnt, rfp } = ticket;
  const code = error instanceof AppError && isWebhookErrorCode(error.code) ? error.code : 'INTERNAL';
  const outcome = WEBHOOK_ERROR_STATUS[code] >= 500 ? 'error' : 'denied';
  return {
    event: { ...useOf(ticket), outcome, detail: { jti, gnt, rfp, version, code } },
    finish: async () => {
      throw error;
    },
  };
}

function useOf({ svc, sub }: CredentialTicket): Omit<OwnEvent, 'outcome'> {
  return { eventType: 'CREDENTIAL_DELIVERED', serviceName: svc, ...subjectOf(sub) };
}
