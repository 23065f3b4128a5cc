import type { Clock, Id } from '@svault/shared';
import { WebhookCallFailed } from './call-failed.ts';

/**
 * What one account's webhook may take of this process: calls under way, and what its answers cost. Who exceeds it waits or is
 * denied, and no other account notices.
 */
export interface CallBudget {
  /**
   * A place for one call, at once or when another one ends.
   *
   * @param timeoutMs how long a place is waited for
   * @throws WebhookCallFailed `held_back` where there is none in time, or the account's answers have cost too much
   */
  enter(
    vaultId: Id<'vlt'>,
    waiting: { readonly timeoutMs: number; readonly signal?: AbortSignal },
  ): Promise<CallPlace>;
}

export interface CallPlace {
  /** @param answerBytes that were read */
  leave(answerBytes: number): void;
}

/** More than an owner at a page, the log, a refresh and a delivery need at the same time. */
const MAX_CALLS_AT_ONCE = 8;
const MAX_WAITING = 64;
const MINUTE_MS = 60_000;
/** In any minute. Parsing as much takes about a tenth of a second in all. */
const MAX_BYTES_PER_MINUTE = 8 * 1024 * 1024;
/** What a call costs besides its answer, in bytes of an answer. */
const BYTES_PER_CALL = 4 * 1024;
/** From so many accounts on, those that owe nothing are forgotten. */
const MANY_ACCOUNTS = 1_000;

interface Account {
  calls: number;
  /** Bytes, as of `atMs`; less by `MAX_BYTES_PER_MINUTE` with each minute. */
  debt: number;
  atMs: number;
  readonly waiting: Set<() => void>;
}

/** @param options.onExceeded told each time that an account's answers have cost too much */
export function createCallBudget(options: {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly onExceeded?: (vaultId: Id<'vlt'>) => void;
}): CallBudget {
  const { clock, onExceeded } = options;
  const accounts = new Map<Id<'vlt'>, Account>();

  const debtOf = ({ debt, atMs }: Account): number =>
    Math.max(debt - ((clock.monotonic() - atMs) / MINUTE_MS) * MAX_BYTES_PER_MINUTE, 0);
  const sweep = (): void => {
    for (const [vaultId, account] of accounts)
      if (account.calls === 0 && account.waiting.size === 0 && debtOf(account) === 0)
        accounts.delete(vaultId);
  };
  const accountOf = (vaultId: Id<'vlt'>): Account => {
    const known = accounts.get(vaultId);
    if (known !== undefined) return known;
    if (accounts.size >= MANY_ACCOUNTS) sweep();
    const account: Account = { calls: 0, debt: 0, atMs: clock.monotonic(), waiting: new Set() };
    accounts.set(vaultId, account);
    return account;
  };

  const leave = (vaultId: Id<'vlt'>, account: Account, answerBytes: number): void => {
    const before = debtOf(account);
    account.debt = before + answerBytes + BYTES_PER_CALL;
    account.atMs = clock.monotonic();
    const [next] = account.waiting;
    // Its place goes straight to who waits, so that nobody comes in between.
    if (next === undefined) account.calls -= 1;
    else next();
    if (before <= MAX_BYTES_PER_MINUTE && account.debt > MAX_BYTES_PER_MINUTE) onExceeded?.(vaultId);
  };

  return {
    enter: async (vaultId, waiting) => {
      const account = accountOf(vaultId);
      const excess = debtOf(account) - MAX_BYTES_PER_MINUTE;
      if (excess > 0) throw tooMuch(excess);
      if (account.calls >= MAX_CALLS_AT_ONCE) await turn(account, waiting);
      else account.calls += 1;
      let isLeft = false;
      return {
        leave: (answerBytes) => {
          if (!isLeft) leave(vaultId, account, answerBytes);
          isLeft = true;
        },
      };
    },
  };
}

/** Resolves with the place of a call that ended. */
function turn(
  { waiting }: Account,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal?: AbortSignal },
): Promise<void> {
  if (waiting.size >= MAX_WAITING) return Promise.reject(tooSlow());
  return new Promise((resolve, reject) => {
    const settle = (end: () => void) => (): void => {
      clearTimeout(deadline);
      signal?.removeEventListener('abort', onAbort);
      waiting.delete(onTurn);
      end();
    };
    const onTurn = settle(resolve);
    const onAbort = settle(() => reject(signal?.reason as Error));
    const deadline = setTimeout(
      settle(() => reject(tooSlow())),
      timeoutMs,
    );
    waiting.add(onTurn);
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted === true) onAbort();
  });
}

const tooMuch = (excess: number): WebhookCallFailed =>
  new WebhookCallFailed(
    'held_back',
    `its answers have cost more than ${MAX_BYTES_PER_MINUTE} bytes within a minute`,
    { retryAfterSeconds: Math.max(Math.ceil((excess / MAX_BYTES_PER_MINUTE) * (MINUTE_MS / 1_000)), 1) },
  );

const tooSlow = (): WebhookCallFailed =>
  new WebhookCallFailed(
    'held_back',
    `${MAX_CALLS_AT_ONCE} calls to it are under way and none ended in time`,
    {
      retryAfterSeconds: 1,
    },
  );
