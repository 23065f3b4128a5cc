import type { IncomingMessage } from 'node:http';
import {
  type Clock,
  type TicketFor,
  type TicketOp,
  TicketRefused,
  headerPairs,
  ticketClaimUntil,
  verifyTicket,
} from '@svault/shared';
import type { CountedLog } from '@svault/server-kit/counted-log';
import type { GroupCommit } from '@svault/server-kit/group-commit';
import type { BindingReader } from '../binding/binding.ts';
import { ApiError } from '../errors.ts';
import type { Metrics } from '../metrics.ts';
import type { ClaimOnce, ClaimOutcome } from '../replay/claim-once.ts';
import type { FreshnessCheck } from '../replay/freshness.ts';

const BEARER = /^Bearer +([^ ]+)$/i;
/** What the control plane redirects to: nothing else in the query, and nothing encoded. */
const OUR_QUERY = /^[^?]*\?ticket=([A-Za-z0-9_.-]+)$/;

/**
 * The ticket of `GET /v1/credential` (PROTOCOL.md section 5.4): the `ticket` parameter, otherwise the bearer of the
 * `Authorization` header. With a ticket in the query the header is ignored: some clients repeat an agent's key there
 * when they follow the redirect.
 *
 * @returns undefined if there is none, or more than one in the same place
 */
export function credentialTicketOf(req: IncomingMessage): string | undefined {
  const target = req.url ?? '';
  const ours = OUR_QUERY.exec(target)?.[1];
  if (ours !== undefined) return ours;
  const at = target.indexOf('?');
  const given = at < 0 ? [] : new URLSearchParams(target.slice(at)).getAll('ticket');
  if (given.length === 0) return bearerTicketOf(req);
  return given.length === 1 ? given[0] : undefined;
}

/**
 * The ticket of `POST /v1/store`: a bearer, never in the address, which logs and histories keep.
 *
 * @returns undefined if there is none, or more than one
 */
export function bearerTicketOf(req: IncomingMessage): string | undefined {
  // `req.headers` has the first of two `Authorization` headers and silently drops the other.
  const given = headerPairs(req.rawHeaders).filter(([name]) => name.toLowerCase() === 'authorization');
  const [only, ...others] = given;
  return only === undefined || others.length > 0 ? undefined : BEARER.exec(only[1].trim())?.[1];
}

/** Why a ticket is rejected before or after its own checks; thrown in this file only. */
class Unusable extends Error {}

/** Authenticates tickets (PROTOCOL.md section 4). Every rejection is the same 401; the log has the reason. */
export function createTicketAuthenticator(deps: {
  readonly binding: BindingReader;
  readonly claimOnce: Pick<ClaimOnce, 'ticket'>;
  readonly isFresh: FreshnessCheck;
  readonly commit: GroupCommit;
  readonly clock: Clock;
  readonly logger: Pick<CountedLog, 'warn'>;
  readonly metrics: Pick<Metrics, 'refusedTickets'>;
}) {
  const { claimOnce, isFresh, commit, clock, logger } = deps;

  const read = <Op extends TicketOp>(op: Op, token: string | undefined) => {
    const binding = deps.binding();
    if (token === undefined) throw new Unusable('missing_or_repeated');
    if (binding === undefined) throw new Unusable('not_bound');
    let keyId = '';
    const ticket = verifyTicket(token, {
      op,
      issuer: binding.serviceBaseUrl,
      audience: binding.webhookId,
      // A pending key signs no tickets (PROTOCOL.md section 5.1).
      keyFor: (kid) => {
        keyId = kid;
        const key = binding.keyFor(kid);
        return key?.state === 'pending' ? undefined : key?.secret;
      },
      nowMs: clock.now(),
    });
    const untilMs = ticketClaimUntil(ticket) * 1000;
    const stale = isFresh(ticket.iat, untilMs);
    if (stale !== undefined) throw new Unusable(stale);
    /** In an open transaction, so that the claim is durable with what the ticket is for. */
    const claimNow = (): ClaimOutcome => claimOnce.ticket({ keyId, jti: ticket.jti, untilMs });
    return { ticket, claimNow };
  };

  const refuse = (op: TicketOp, reason: string, cause?: unknown): Error => {
    deps.metrics.refusedTickets({ reason });
    logger.warn({ op, reason }, 'a ticket was refused');
    return new ApiError(
      'TICKET_INVALID',
      'The ticket is used, too old, or for something else. Ask the control plane for a new one, as svault get does.',
      {
        reason,
        cause,
      },
    );
  };
  const verify = <Op extends TicketOp>(op: Op, token: string | undefined) => {
    try {
      return read(op, token);
    } catch (error) {
      if (error instanceof TicketRefused) throw refuse(op, error.reason, error);
      if (error instanceof Unusable) throw refuse(op, error.message, error);
      throw error;
    }
  };

  return {
    /**
     * Verifies a ticket and consumes it; the claim is durable when this resolves. A ticket that fails verification is
     * not consumed. (A `proxy` ticket is never claimed: the nonce of the request around it stops replays.)
     *
     * @param token as sent; undefined if there was none, or more than one
     * @throws ApiError TICKET_INVALID
     */
    authenticate: async <Op extends Exclude<TicketOp, 'proxy'>>(
      op: Op,
      token: string | undefined,
    ): Promise<TicketFor<Op>> => {
      const { ticket, claimNow } = verify(op, token);
      const outcome = await commit.run(claimNow);
      if (outcome !== 'claimed') throw refuse(op, outcome);
      return ticket;
    },
    /** The first half, for a caller that claims in a larger transaction; `refuse` answers all but `claimed`. */
    verify,
    /** Logs why, and returns the one error for it. */
    refuse,
  };
}

export type TicketAuthenticator = ReturnType<typeof createTicketAuthenticator>;
