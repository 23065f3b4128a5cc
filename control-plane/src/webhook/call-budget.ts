import type { Clock, Id } from '@svault/shared';
import { WebhookCallFailed } from './call-failed.ts';

/** More than an owner's page, audit shipping, a refresh and a delivery need together. */
const MAX_CALLS_AT_ONCE = 8;
const MAX_WAITING = 64;
const MINUTE_MS = 60_000;
/** Parsing this much takes about a tenth of a second in all. */
const MAX_BYTES_PER_MINUTE = 8 * 1024 * 1024;
/** The cost of a call without its answer, in bytes of answer. */
const BYTES_PER_CALL = 4 * 1024;
/** From this many accounts on, idle ones without debt are evicted. */
const EVICT_FROM_ACCOUNTS = 1_000;

interface Account {
  calls: number;
  /** Bytes at `atMs`; a leaky bucket that drains `MAX_BYTES_PER_MINUTE` each minute. */
  debt: number;
  atMs: number;
  readonly waiting: Set<() => void>;
}

/**
 * Bounds what one account's webhook costs this process: concurrent calls, and the bytes of its answers. Beyond that its
 * calls wait or fail, and those of other accounts do not.
 *
 * Not `p-limit`: a waiting call needs a timeout, an abort signal and a bounded queue.
 */
export type CallBudget = ReturnType<typeof createCallBudget>;

interface Waiting {
  /** How long to wait for a place. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** @param options.onExceeded called each time that an account has spent its bytes */
export function createCallBudget(options: {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly onExceeded?: (vaultId: Id<'vlt'>) => void;
}) {
  const { clock, onExceeded } = options;
  const accounts = new Map<Id<'vlt'>, Account>();

  const debtOf = ({ debt, atMs }: Account): number =>
    Math.max(debt - ((clock.monotonic() - atMs) / MINUTE_MS) * MAX_BYTES_PER_MINUTE, 0);
  const evictIdle = (): void => {
    for (const [vaultId, account] of accounts)
      if (account.calls === 0 && account.waiting.size === 0 && debtOf(account) === 0)
        accounts.delete(vaultId);
  };
  const accountOf = (vaultId: Id<'vlt'>): Account => {
    const known = accounts.get(vaultId);
    if (known !== undefined) return known;
    if (accounts.size >= EVICT_FROM_ACCOUNTS) evictIdle();
    const account: Account = { calls: 0, debt: 0, atMs: clock.monotonic(), waiting: new Set() };
    accounts.set(vaultId, account);
    return account;
  };

  const leave = (vaultId: Id<'vlt'>, account: Account, answerBytes: number): void => {
    const before = debtOf(account);
    account.debt = before + answerBytes + BYTES_PER_CALL;
    account.atMs = clock.monotonic();
    const [next] = account.waiting;
    // The place passes to the next waiting call, so that no new call takes it first.
    if (next === undefined) account.calls -= 1;
    else next();
    if (before <= MAX_BYTES_PER_MINUTE && account.debt > MAX_BYTES_PER_MINUTE) onExceeded?.(vaultId);
  };

  return {
    /**
     * Takes a place for one call, at once or when another call ends.
     *
     * @returns `leave` frees the place, once, and gets how many bytes were read
     * @throws WebhookCallFailed `held_back` where no place is free in time, or the account's bytes are spent
     */
    enter: async (vaultId: Id<'vlt'>, waiting: Waiting) => {
      const account = accountOf(vaultId);
      const excess = debtOf(account) - MAX_BYTES_PER_MINUTE;
      if (excess > 0) throw bytesSpent(excess);
      if (account.calls >= MAX_CALLS_AT_ONCE) await waitForPlace(account, waiting);
      else account.calls += 1;
      let isLeft = false;
      return {
        leave: (answerBytes: number): void => {
          if (!isLeft) leave(vaultId, account, answerBytes);
          isLeft = true;
        },
      };
    },
  };
}

/** Resolves when an ended call has passed on its place. */
function waitForPlace({ waiting }: Account, { timeoutMs, signal }: Waiting): Promise<void> {
  if (waiting.size >= MAX_WAITING) return Promise.reject(noPlace());
  return new Promise((resolve, reject) => {
    const settle = (end: () => void) => (): void => {
      clearTimeout(deadline);
      signal?.removeEventListener('abort', onAbort);
      waiting.delete(onPlace);
      end();
    };
    const onPlace = settle(resolve);
    const onAbort = settle(() => reject(signal?.reason as Error));
    const deadline = setTimeout(
      settle(() => reject(noPlace())),
      timeoutMs,
    );
    waiting.add(onPlace);
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted === true) onAbort();
  });
}

const bytesSpent = (excess: number): WebhookCallFailed =>
  new WebhookCallFailed(
    'held_back',
    `its answers have cost more than ${MAX_BYTES_PER_MINUTE} bytes within a minute`,
    { retryAfterSeconds: Math.max(Math.ceil((excess / MAX_BYTES_PER_MINUTE) * (MINUTE_MS / 1_000)), 1) },
  );

const noPlace = (): WebhookCallFailed =>
  new WebhookCallFailed(
    'held_back',
    `${MAX_CALLS_AT_ONCE} calls to it are under way and none ended in time`,
    { retryAfterSeconds: 1 },
  );
