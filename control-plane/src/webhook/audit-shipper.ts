import type { Clock, Id } from '@svault/shared';
import type { Logger } from '@svault/server-kit/logger';
import type { AuditEvent } from '../core/audit-event.ts';
import type { AuditStore } from '../core/audit-store.ts';
import { createWebhookTurns } from './account-tasks.ts';
import { cutBatch } from './audit-delivery.ts';

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
const MAX_PAUSE_MS = 60_000;
/** Vaults per round. */
const VAULTS_AT_ONCE = 20;

export function createAuditShipper(options: {
  readonly log: Pick<AuditStore, 'backlog' | 'after'>;
  readonly destination: AuditDestination;
  readonly clock: Clock;
  readonly logger: Logger;
}): AuditShipper {
  const { log, destination, clock, logger } = options;
  const stopping = new AbortController();
  const turns = createWebhookTurns({ clock, firstPauseMs: FIRST_PAUSE_MS, maxPauseMs: MAX_PAUSE_MS });

  const shipVault = async (vaultId: Id<'vlt'>, shippedSeq: number): Promise<void> => {
    try {
      const events = cutBatch(await log.after(vaultId, shippedSeq, EVENTS_PER_ROUND));
      if (events.length === 0 || stopping.signal.aborted) return;
      await destination.deliver({ vaultId, shippedSeq, events }, stopping.signal);
    } catch (error) {
      if (!stopping.signal.aborted) throw error;
    }
  };

  /** The last vault whose turn it was. */
  let turn: Id<'vlt'> | undefined;

  const ship = async (): Promise<void> => {
    const waiting = await log.backlog({ after: turn, limit: VAULTS_AT_ONCE + turns.occupied });
    const due = waiting.filter(({ vaultId }) => turns.isFree(vaultId)).slice(0, VAULTS_AT_ONCE);
    turn = due.length === VAULTS_AT_ONCE ? due.at(-1)?.vaultId : undefined;
    for (const { vaultId, shippedSeq } of due)
      turns.begin(
        vaultId,
        () => shipVault(vaultId, shippedSeq),
        (error, retryInMs) =>
          logger.warn({ err: error, vaultId, retryInMs }, 'the webhook does not take the audit log'),
      );
  };

  return {
    ship,
    settled: turns.settled,
    stop: async () => {
      stopping.abort();
      await turns.settled();
    },
  };
}
