import type { Logger } from '@svault/server-kit/logger';
import type { Clock, Id } from '@svault/shared';
import { WebhookCallFailed } from './call-failed.ts';

/** How one account's task ended. */
export interface Reports {
  /** @param isNew false where the task before failed with the same message */
  readonly failed: (error: unknown, pauseMs: number, isNew: boolean) => void;
  /** The first success after failures. */
  readonly recovered: () => void;
}

export type AccountTasks = ReturnType<typeof createAccountTasks>;

const PLACES = 64;
const PLACES_AFTER_FAILURES = 16;

/** The longest pause that a webhook can ask for. */
const MAX_ASKED_PAUSE_MS = 3_600_000;

/** `Retry-After` of the webhook's answer (PROTOCOL.md STO-38). */
function askedPauseMs(error: unknown): number {
  const seconds = error instanceof WebhookCallFailed ? (error.retryAfterSeconds ?? 0) : 0;
  return Math.min(seconds * 1_000, MAX_ASKED_PAUSE_MS);
}

/**
 * Background work that calls the webhooks of accounts: one task at a time for each account, and the caller waits for none.
 * After a failure the account pauses, twice as long each time and at least as long as its webhook asked for. Accounts whose
 * last task failed share a few places, so that webhooks that never answer do not delay the others.
 */
export function createAccountTasks(options: {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly firstPauseMs: number;
  readonly maxPauseMs: number;
}) {
  const { clock, firstPauseMs, maxPauseMs } = options;
  const pauses = new Map<
    Id<'vlt'>,
    { readonly untilMs: number; readonly lengthMs: number; readonly why: string }
  >();
  const inFlight = new Map<Id<'vlt'>, { readonly failedLast: boolean; readonly ended: Promise<void> }>();

  /** Whether a task of the account can start now. */
  const canStart = (vaultId: Id<'vlt'>): boolean => {
    if (inFlight.has(vaultId) || (pauses.get(vaultId)?.untilMs ?? 0) > clock.monotonic()) return false;
    const failedLast = pauses.has(vaultId);
    const alike = [...inFlight.values()].filter((task) => task.failedLast === failedLast).length;
    return alike < (failedLast ? PLACES_AFTER_FAILURES : PLACES);
  };
  const run = async (vaultId: Id<'vlt'>, task: () => Promise<void>, reports: Reports): Promise<void> => {
    try {
      await task();
      if (pauses.delete(vaultId)) reports.recovered();
    } catch (error) {
      const former = pauses.get(vaultId);
      const why = String(error);
      const lengthMs = Math.min((former?.lengthMs ?? firstPauseMs / 2) * 2, maxPauseMs);
      const pauseMs = Math.max(lengthMs, askedPauseMs(error));
      pauses.set(vaultId, { untilMs: clock.monotonic() + pauseMs, lengthMs, why });
      reports.failed(error, pauseMs, why !== former?.why);
    } finally {
      inFlight.delete(vaultId);
    }
  };

  return {
    canStart,
    /** How many accounts have a task in flight or pause. */
    get busyAccounts(): number {
      return new Set([...pauses.keys(), ...inFlight.keys()]).size;
    },
    /** Starts a task, which rejects to report a failure, unless the account cannot start one now. */
    start: (vaultId: Id<'vlt'>, task: () => Promise<void>, reports: Reports): void => {
      if (!canStart(vaultId)) return;
      const { promise: ended, resolve } = Promise.withResolvers<void>();
      inFlight.set(vaultId, { failedLast: pauses.has(vaultId), ended });
      void run(vaultId, task, reports).finally(resolve);
    },
    /** Waits for the tasks in flight. */
    settled: async (): Promise<void> =>
      void (await Promise.all([...inFlight.values()].map(({ ended }) => ended))),
  };
}

/**
 * Logs a webhook's failures as one warning for each outage and one line at its end; the failures between and the stacks are at debug.
 * Other errors are logged in full whenever they happen.
 */
export const loggedReports = (
  logger: Logger,
  vaultId: Id<'vlt'>,
  texts: { readonly failed: string; readonly recovered?: string },
): Reports => ({
  failed: (error, retryInMs, isNew) => {
    if (!(error instanceof WebhookCallFailed))
      return logger.warn({ err: error, vaultId, retryInMs }, texts.failed);
    if (isNew) logger.warn({ vaultId, retryInMs, why: error.message }, texts.failed);
    logger.debug({ err: error, vaultId, retryInMs }, texts.failed);
  },
  recovered: () => {
    if (texts.recovered !== undefined) logger.info({ vaultId }, texts.recovered);
  },
});
