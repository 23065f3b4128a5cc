import { createConcurrencyLimit } from '@svault/server-kit/concurrency-limit';
import type { Clock, Id } from '@svault/shared';
import type { ApprovalStore, OpenApproval } from '../core/approval.ts';
import type { Denial, Waiting } from './decision.ts';

/** Waits for decisions on approvals. */
export interface ApprovalWaiters {
  /**
   * Waits until an approval is decided, by whatever process.
   *
   * @param ms at most
   * @returns false where it was not decided: the time is over, the client gone, or the program about to end; or at once,
   *   where the account or this process has the maximum waiting
   */
  wait(approval: AwaitedApproval, ms: number, signal: Waiting['signal']): Promise<boolean>;
  /** Wakes those that wait in this process. */
  wake(approvalId: string): void;
  /** Looks, once for all that wait, at what became of it. */
  poll(): Promise<void>;
  /** Ends all waiting, now and later. */
  end(): void;
}

/** An open approval. */
interface AwaitedApproval {
  readonly vaultId: Id<'vlt'>;
  readonly id: Id<'apr'>;
  /** Its id at the webhook, where it is decided there. */
  readonly webhookApprovalId: string | undefined;
}

/** Asks an account's webhook about these ids of its own, and writes down what became of them. */
export type LearnStates = (vaultId: Id<'vlt'>, webhookApprovalIds: readonly string[]) => Promise<void>;

/** Each costs some KiB: its request, with what was read of it. */
export const MAX_WAITING = { ofProcess: 1_000, ofAccount: 20 } as const;
export const POLL_MS = 2_000;
/** The key of what is counted for the whole process. */
const PROCESS = '';

export function createApprovalWaiters({
  approvals,
  learnStates,
  onError,
}: {
  readonly approvals: Pick<ApprovalStore, 'decidedAmong'>;
  readonly learnStates: LearnStates;
  /** Of what a webhook was asked. */
  readonly onError: (error: unknown) => void;
}): ApprovalWaiters {
  const waiting = new Map<
    string,
    { readonly approval: AwaitedApproval; readonly wakes: Set<(decided: boolean) => void> }
  >();
  const ofAccount = createConcurrencyLimit(MAX_WAITING.ofAccount);
  const ofProcess = createConcurrencyLimit(MAX_WAITING.ofProcess);
  const beingAsked = new Set<Id<'vlt'>>();
  let hasEnded = false;

  const wake = (id: string, decided = true): void => {
    for (const each of waiting.get(id)?.wakes ?? []) each(decided);
  };

  return {
    wait: (approval, ms, signal) => {
      const leaveAccount = hasEnded || signal.aborted ? undefined : ofAccount.take(approval.vaultId);
      const leaveProcess = leaveAccount && ofProcess.take(PROCESS);
      if (leaveProcess === undefined) {
        leaveAccount?.();
        return Promise.resolve(false);
      }
      const { id } = approval;
      const entry = waiting.get(id) ?? { approval, wakes: new Set() };
      waiting.set(id, entry);
      return new Promise<boolean>((resolve) => {
        const settle = (decided: boolean): void => {
          clearTimeout(timer);
          signal.removeEventListener('abort', onEnd);
          entry.wakes.delete(settle);
          if (entry.wakes.size === 0) waiting.delete(id);
          leaveAccount?.();
          leaveProcess();
          resolve(decided);
        };
        const onEnd = (): void => settle(false);
        const timer = setTimeout(onEnd, ms);
        signal.addEventListener('abort', onEnd, { once: true });
        entry.wakes.add(settle);
      });
    },
    wake,
    poll: async () => {
      if (waiting.size === 0) return;
      const awaited = [...waiting.values()].map(({ approval }) => approval);
      const atWebhooks = Map.groupBy(
        awaited.filter(({ webhookApprovalId }) => webhookApprovalId !== undefined),
        ({ vaultId }) => vaultId,
      );
      // Not waited for: a webhook that is slow or away delays no other one, nor the next look.
      for (const [vaultId, each] of atWebhooks) void askWebhook(vaultId, each).catch(onError);
      await wakeDecided(awaited.filter(({ webhookApprovalId }) => webhookApprovalId === undefined));
    },
    end: () => {
      hasEnded = true;
      for (const id of [...waiting.keys()]) wake(id, false);
    },
  };

  async function askWebhook(vaultId: Id<'vlt'>, awaited: readonly AwaitedApproval[]): Promise<void> {
    if (beingAsked.has(vaultId)) return;
    beingAsked.add(vaultId);
    try {
      await learnStates(
        vaultId,
        awaited.flatMap(({ webhookApprovalId = [] }) => webhookApprovalId),
      );
      await wakeDecided(awaited);
    } finally {
      beingAsked.delete(vaultId);
    }
  }

  async function wakeDecided(awaited: readonly AwaitedApproval[]): Promise<void> {
    if (awaited.length === 0) return;
    for (const id of await approvals.decidedAmong(awaited.map(({ id }) => id))) wake(id);
  }
}

/**
 * Decides; and where the request needs an approval that nobody decided on yet, and may wait, decides again once somebody
 * has.
 *
 * @param decide reads the state anew each time, and counts what it counted before no further
 * @returns the last decision
 */
export async function decideInTime<Decision extends { readonly outcome: string }>(
  { waiters, clock }: { readonly waiters: ApprovalWaiters; readonly clock: Clock },
  waiting: Waiting | undefined,
  decide: () => Promise<Decision>,
): Promise<Decision> {
  if (waiting === undefined) return decide();
  const endMs = clock.monotonic() + waiting.seconds * 1_000;
  for (;;) {
    const decision = await decide();
    const open = 'denial' in decision ? approvalIn(decision.denial as Denial) : undefined;
    const leftMs = endMs - clock.monotonic();
    if (open?.status !== 'pending' || leftMs <= 0) return decision;
    if (!(await waiters.wait(open, leftMs, waiting.signal))) return decision;
  }
}

/** The open approval of a denial that has one. */
export const approvalIn = (denial: Denial): OpenApproval | undefined =>
  'approval' in denial ? denial.approval : undefined;
