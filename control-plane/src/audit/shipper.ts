import type { Clock, Id } from '@svault/shared';
import type { Logger } from '@svault/server-kit/logger';
import type { AuditEvent } from './audit-event.ts';
import type { AuditStore } from './audit-store.ts';
import { cutBatch } from './shipping-batch.ts';

/** Events of one vault in their order. */
export interface Shipment {
  readonly vaultId: Id<'vlt'>;
  /** Where the vault's cursor stands; the first event may be further on, where older ones are kept no longer. */
  readonly shippedSeq: number;
  /** At least one. */
  readonly events: readonly AuditEvent[];
}

/** Where a vault's events go. */
export interface AuditDestination {
  /**
   * Hands events over in their order and remembers durably that it did. What was handed over before is taken again.
   *
   * @returns false where there is no webhook any more
   * @throws when they were not all taken; then none counts as handed over
   */
  deliver(shipment: Shipment, signal: AbortSignal): Promise<boolean>;
}

/**
 * Brings the log to the webhooks: at least once, in order, whatever stops in between. The outbox is the log itself
 * and a cursor per vault, both in the database, so there is nothing to lose.
 */
export interface AuditShipper {
  /**
   * Begins a round: a batch each for vaults with events to ship, every one of them in its turn. To be called again and
   * again. It waits for no webhook, since one account's slow webhook must not hold up another account's log.
   */
  ship(): Promise<void>;
  /** Waits for the calls in hand. */
  settled(): Promise<void>;
  /** Ends the calls in hand: what they carried is shipped again by the next process. */
  stop(): Promise<void>;
}

/**
 * So few that making a batch of them keeps no request waiting for more than a few milliseconds; at four rounds a second
 * still twenty times what the specification's account-wide limit lets an account cause.
 */
const EVENTS_PER_ROUND = 250;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** Vaults per round. */
const VAULTS_AT_ONCE = 20;

interface Pause {
  readonly untilMs: number;
  readonly lengthMs: number;
}

export function createAuditShipper(options: {
  readonly log: Pick<AuditStore, 'backlog' | 'after'>;
  readonly destination: AuditDestination;
  readonly clock: Clock;
  readonly logger: Logger;
}): AuditShipper {
  const { log, destination, clock, logger } = options;
  const stopping = new AbortController();
  /** Vaults whose webhook did not take the last batch, by monotonic time. */
  const pauses = new Map<Id<'vlt'>, Pause>();

  const shipVault = async (vaultId: Id<'vlt'>, shippedSeq: number): Promise<void> => {
    try {
      const events = cutBatch(await log.after(vaultId, shippedSeq, EVENTS_PER_ROUND));
      if (events.length === 0 || stopping.signal.aborted) return;
      await destination.deliver({ vaultId, shippedSeq, events }, stopping.signal);
      pauses.delete(vaultId);
    } catch (error) {
      if (stopping.signal.aborted) return;
      const lengthMs = Math.min((pauses.get(vaultId)?.lengthMs ?? FIRST_PAUSE_MS / 2) * 2, LONGEST_PAUSE_MS);
      pauses.set(vaultId, { untilMs: clock.monotonic() + lengthMs, lengthMs });
      logger.warn({ err: error, vaultId, retryInMs: lengthMs }, 'the webhook does not take the audit log');
    }
  };

  /** Vaults that a call is under way for: one at a time each, so that their events arrive in order. */
  const inHand = new Map<Id<'vlt'>, Promise<void>>();
  const isDue = (vaultId: Id<'vlt'>, nowMs: number): boolean =>
    !inHand.has(vaultId) && (pauses.get(vaultId)?.untilMs ?? 0) <= nowMs;
  /** The last vault whose turn it was. */
  let turn: Id<'vlt'> | undefined;

  const ship = async (): Promise<void> => {
    const nowMs = clock.monotonic();
    const waiting = await log.backlog({ after: turn, limit: VAULTS_AT_ONCE + pauses.size + inHand.size });
    const due = waiting.filter(({ vaultId }) => isDue(vaultId, nowMs)).slice(0, VAULTS_AT_ONCE);
    turn = due.length === VAULTS_AT_ONCE ? due.at(-1)?.vaultId : undefined;
    for (const { vaultId, shippedSeq } of due)
      inHand.set(
        vaultId,
        shipVault(vaultId, shippedSeq).finally(() => inHand.delete(vaultId)),
      );
  };

  const settled = async (): Promise<void> => void (await Promise.all(inHand.values()));

  return {
    ship,
    settled,
    stop: async () => {
      stopping.abort();
      await settled();
    },
  };
}
