import type { Clock, Id } from '@svault/shared';
import { WebhookCallFailed } from './call-failed.ts';

/**
 * Background work that calls accounts' webhooks: one piece at a time for each account, and none is waited for. An account whose
 * work fails pauses, twice as long each time, and as long as the webhook asked for; those that failed last have few places among themselves, so that no number of
 * webhooks that never answer keeps the others waiting.
 */
export interface WebhookTurns {
  /** Whether a piece of work could begin now. */
  isFree(vaultId: Id<'vlt'>): boolean;
  /** Accounts that are at work or pause: those that a list of work is longer by. */
  readonly occupied: number;
  /**
   * Begins a piece of work, unless the account is not free.
   *
   * @param work rejects where it failed
   * @param onFailure told why, and how long the account pauses now
   */
  begin(
    vaultId: Id<'vlt'>,
    work: () => Promise<void>,
    onFailure: (error: unknown, pauseMs: number) => void,
  ): void;
  /** Waits for the work in hand. */
  settled(): Promise<void>;
}

const PLACES = 64;
const PLACES_AFTER_FAILURES = 16;

/** No webhook is left alone for longer, whatever it asks for. */
const MAX_ASKED_PAUSE_MS = 3_600_000;

/** For how long a webhook asked not to be called (protocol STO-38). */
function askedPauseMs(error: unknown): number {
  const seconds = error instanceof WebhookCallFailed ? (error.retryAfterSeconds ?? 0) : 0;
  return Math.min(seconds * 1_000, MAX_ASKED_PAUSE_MS);
}

interface Pause {
  readonly untilMs: number;
  readonly lengthMs: number;
}

export function createWebhookTurns(options: {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly firstPauseMs: number;
  readonly maxPauseMs: number;
}): WebhookTurns {
  const { clock, firstPauseMs, maxPauseMs } = options;
  const pauses = new Map<Id<'vlt'>, Pause>();
  const inHand = new Map<Id<'vlt'>, { readonly failedLast: boolean; readonly ended: Promise<void> }>();

  const isFree = (vaultId: Id<'vlt'>): boolean => {
    if (inHand.has(vaultId) || (pauses.get(vaultId)?.untilMs ?? 0) > clock.monotonic()) return false;
    const failedLast = pauses.has(vaultId);
    const alike = [...inHand.values()].filter((work) => work.failedLast === failedLast).length;
    return alike < (failedLast ? PLACES_AFTER_FAILURES : PLACES);
  };
  const run = async (...[vaultId, work, onFailure]: Parameters<WebhookTurns['begin']>): Promise<void> => {
    try {
      await work();
      pauses.delete(vaultId);
    } catch (error) {
      const lengthMs = Math.min((pauses.get(vaultId)?.lengthMs ?? firstPauseMs / 2) * 2, maxPauseMs);
      const pauseMs = Math.max(lengthMs, askedPauseMs(error));
      pauses.set(vaultId, { untilMs: clock.monotonic() + pauseMs, lengthMs });
      onFailure(error, pauseMs);
    } finally {
      inHand.delete(vaultId);
    }
  };

  return {
    isFree,
    get occupied() {
      return new Set([...pauses.keys(), ...inHand.keys()]).size;
    },
    begin: (vaultId, work, onFailure) => {
      if (!isFree(vaultId)) return;
      const { promise: ended, resolve } = Promise.withResolvers<void>();
      inHand.set(vaultId, { failedLast: pauses.has(vaultId), ended });
      void run(vaultId, work, onFailure).finally(resolve);
    },
    settled: async () => void (await Promise.all([...inHand.values()].map(({ ended }) => ended))),
  };
}
