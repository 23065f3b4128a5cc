import {
  type Clock,
  type TicketFor,
  type TicketOp,
  TicketRefused,
  ticketClaimUntil,
  verifyTicket,
} from '@svault/shared';
import type { CountedLog } from '@svault/server-kit/counted-log';
import type { Admission, AdmissionDesk } from '../binding/admission.ts';
import type { Binding, BindingReader } from '../binding/binding.ts';
import type { FreshnessCheck } from '../replay/freshness.ts';
import { refusal } from '../errors.ts';

/** A ticket whose signature, claims and times hold, and which is not used up yet. */
export interface VerifiedTicket<Op extends TicketOp> {
  readonly ticket: TicketFor<Op>;
  /**
   * Uses the ticket up inside an open transaction, so that the claim is durable together with what it is for.
   * Anything but `admitted` must be answered by {@link TicketAuthenticator.refuse}.
   */
  useNow(): Admission;
}

/** Authenticates tickets (protocol section 4). Every refusal is the same 401; the reason stands in the log. */
export interface TicketAuthenticator {
  /**
   * Verifies a ticket and uses it up, durably, when this resolves; a `proxy` ticket is not recorded, since the nonce of
   * the request around it stops replays. A ticket that does not verify uses up nothing.
   *
   * @param token as sent; undefined where there was none, or more than one
   * @throws AppError TICKET_INVALID
   */
  authenticate<Op extends TicketOp>(op: Op, token: string | undefined): Promise<TicketFor<Op>>;
  /** The first half of {@link TicketAuthenticator.authenticate}: a single commit may then hold claim and use. */
  verify<Op extends TicketOp>(op: Op, token: string | undefined): VerifiedTicket<Op>;
  /** Logs why, and returns the one error for it. */
  refuse(op: TicketOp, reason: string, cause?: unknown): Error;
}

interface Read<Op extends TicketOp> {
  readonly ticket: TicketFor<Op>;
  readonly keyId: string;
  readonly untilMs: number;
}

/** Why a ticket is refused before or after its own checks; thrown inside this file only. */
class Unusable extends Error {}

export function createTicketAuthenticator(deps: {
  readonly binding: BindingReader;
  readonly desk: Pick<AdmissionDesk, 'admitTicket' | 'admitTicketNow'>;
  readonly isFresh: FreshnessCheck;
  readonly clock: Clock;
  readonly logger: Pick<CountedLog, 'warn'>;
}): TicketAuthenticator {
  const { desk, isFresh, clock, logger } = deps;

  const read = <Op extends TicketOp>(op: Op, token: string | undefined): Read<Op> => {
    const binding = deps.binding();
    if (token === undefined) throw new Unusable('missing_or_repeated');
    if (binding === undefined) throw new Unusable('not_bound');
    const keys = ticketKeysOf(binding);
    const ticket = verifyTicket(token, {
      op,
      issuer: binding.serviceBaseUrl,
      audience: binding.webhookId,
      keyFor: keys.keyFor,
      nowMs: clock.now(),
    });
    const untilMs = ticketClaimUntil(ticket) * 1000;
    const stale = isFresh(ticket.iat, untilMs);
    if (stale !== undefined) throw new Unusable(stale);
    return { ticket, keyId: keys.usedKeyId(), untilMs };
  };

  const refuse = (op: TicketOp, reason: string, cause?: unknown): Error => {
    logger.warn({ op, reason }, 'a ticket was refused');
    return refusal('TICKET_INVALID', 'the ticket is not valid; ask the service for a new one', {
      reason,
      cause,
    });
  };
  const readOrRefuse = <Op extends TicketOp>(op: Op, token: string | undefined): Read<Op> => {
    try {
      return read(op, token);
    } catch (error) {
      if (error instanceof TicketRefused) throw refuse(op, error.reason, error);
      if (error instanceof Unusable) throw refuse(op, error.message, error);
      throw error;
    }
  };

  return {
    authenticate: async (op, token) => {
      const { ticket, keyId, untilMs } = readOrRefuse(op, token);
      if (op === 'proxy') return ticket;
      const admission = await desk.admitTicket({ keyId, jti: ticket.jti, untilMs });
      if (admission !== 'admitted') throw refuse(op, admission);
      return ticket;
    },
    verify: (op, token) => {
      const { ticket, keyId, untilMs } = readOrRefuse(op, token);
      return { ticket, useNow: () => desk.admitTicketNow({ keyId, jti: ticket.jti, untilMs }) };
    },
    refuse,
  };
}

/**
 * The keys tickets may be signed with: a pending key is none (protocol section 5.1). Remembers which one was asked
 * for, since the claim checks that it still stands.
 */
function ticketKeysOf(binding: Binding): {
  keyFor(kid: string): Uint8Array | undefined;
  usedKeyId(): string;
} {
  let used = '';
  return {
    keyFor: (kid) => {
      used = kid;
      const key = binding.keyFor(kid);
      return key?.state === 'pending' ? undefined : key?.secret;
    },
    usedKeyId: () => used,
  };
}
