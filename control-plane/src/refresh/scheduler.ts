import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@svault/server-kit/logger';
import { type Clock, formatTime } from '@svault/shared';
import { type TokenMetadata, cursorSchema, tokenMetadataSchema } from '@svault/shared/schemas';
import type { RefreshAttempt } from '../core/refresh-attempt.ts';
import type { Stores } from '../core/stores.ts';
import type { SetAsideReason, WebhookLink } from '../core/webhook-link.ts';
import { WebhookCallFailed, garbage, isTooLarge } from '../webhook/call-failed.ts';
import type { WebhookAnswer } from '../webhook/client.ts';
import type { OnlineStatus } from '../webhook/outages.ts';
import { TOKEN_PAGE_SIZES, smallerTokenPage } from '../webhook/response-limits.ts';
import type { WebhookClient } from '../webhook/retrying-client.ts';
import type { SetAsides } from '../webhook/set-aside.ts';
import type { TokenRefresh } from './refresh-result.ts';
import { MAX_PAUSE_MS, REFRESH_AHEAD_MS, isDue, settledAttempt, startedAttempt } from './schedule.ts';
import { isStillBound } from './webhook-refresh.ts';

const EVERY_MS = 60_000;
const PAGE_OF_VAULTS = 100;
const MAX_ACCOUNTS_AT_ONCE = 32;
/** An account's time slice. One that needs longer goes on after all others, so that a slow webhook delays its own tokens. */
const SLICE_MS = 10_000;
const MAX_SLICES = 3;
/** The average of a whole slice; a webhook that is slower is set aside. */
const SLOW_CALL_MS = 2_000;
const STOP_WITHIN_MS = 3_000;
/** Attempts of tokens that were deleted, or whose vault is locked or unbound. */
const EXPIRED_ATTEMPTS_MS = 24 * 60 * 60_000;

/** Refreshes the tokens of all accounts before they expire. */
export type RefreshScheduler = ReturnType<typeof createRefreshScheduler>;

export function createRefreshScheduler(options: {
  readonly stores: Pick<Stores, 'refreshAttempts' | 'tokens' | 'vaults' | 'webhookLinks'>;
  readonly webhook: WebhookClient;
  readonly status: Pick<OnlineStatus, 'offlineForSeconds'>;
  readonly setAsides: SetAsides;
  readonly tokenRefresh: TokenRefresh;
  /** Whether this process is the leader; called before each piece of work. */
  readonly holdsLease: () => Promise<boolean>;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly logger: Logger;
}) {
  const { stores, webhook, status, setAsides, tokenRefresh, holdsLease, clock, random, logger } = options;
  const { refreshAttempts: attempts, tokens } = stores;
  let nextMs = clock.monotonic() + EVERY_MS;
  let stopped = false;
  let round = Promise.withResolvers<void>();
  round.resolve();

  const mayGoOn = async (): Promise<boolean> => !stopped && (await holdsLease());

  const attempt = async (
    { vaultId }: WebhookLink,
    { serviceName, version }: TokenMetadata,
    former: RefreshAttempt | undefined,
  ): Promise<void> => {
    const now = clock.now();
    const started = startedAttempt(version, former, now);
    const bounds = { now: formatTime(now), latest: formatTime(now + MAX_PAUSE_MS) };
    if (!(await attempts.begin(vaultId, serviceName, started, bounds))) return;
    const result = await tokenRefresh.refresh(vaultId, serviceName, { reason: 'expiring' });
    const settled = settledAttempt(started, result, { nowMs: clock.now(), random: random() });
    await attempts.settle(vaultId, serviceName, settled);
  };

  /** Ignores what a webhook lists beside the account's tokens. */
  const dueOf = async ({ vaultId }: WebhookLink, listed: readonly TokenMetadata[]) => {
    const candidates = listed.filter((token) => isDue(token, undefined, clock.now()));
    const names = [...new Set(candidates.map(({ serviceName }) => serviceName))];
    const known = await tokens.known(vaultId, names);
    const former = await attempts.ofServices(vaultId, names);
    return candidates
      .filter(({ serviceName }) => known.has(serviceName))
      .map((token) => ({ token, former: former.get(token.serviceName) }))
      .filter(({ token, former: last }) => isDue(token, last, clock.now()));
  };

  /** @returns how many calls it made, and whether the account is finished */
  const refreshDue = async (
    link: WebhookLink,
    hasTime: () => boolean,
  ): Promise<{ calls: number; isDone: boolean }> => {
    let calls = 0;
    for await (const page of expiringTokens(webhook, link, clock)) {
      calls += 1;
      for (const { token, former } of await dueOf(link, page)) {
        if (!hasTime()) return { calls, isDone: false };
        if (!(await mayGoOn()) || !(await isStillBound(stores, link))) return { calls, isDone: true };
        await attempt(link, token, former);
        calls += 1;
      }
      // A page without a due token takes time too.
      if (!hasTime()) return { calls, isDone: false };
      if (!(await mayGoOn())) return { calls, isDone: true };
    }
    return { calls, isDone: true };
  };

  /** Serves an account for one slice. @returns whether it needs another */
  const serve = async (link: WebhookLink): Promise<boolean> => {
    const startMs = clock.monotonic();
    const isOnline = (): boolean => status.offlineForSeconds(link.vaultId) === 0;
    const hasTime = (): boolean => clock.monotonic() < startMs + SLICE_MS && isOnline();
    if (!isOnline() || setAsides.isSetAside(link) || !(await mayGoOn())) return false;
    const { calls, isDone } = await refreshDue(link, hasTime);
    const isSlow = clock.monotonic() - startMs >= Math.max(SLICE_MS, calls * SLOW_CALL_MS);
    if (isSlow) await setAsides.add(link, 'slow');
    else if (isDone) await setAsides.clear(link);
    return !isDone && !isSlow && isOnline();
  };

  const serveSafely = async (link: WebhookLink): Promise<boolean> => {
    const { vaultId } = link;
    try {
      return await serve(link);
    } catch (error) {
      if (!(error instanceof WebhookCallFailed)) {
        if (!stopped) logger.error({ err: error, vaultId }, 'tokens of a vault could not be refreshed');
        return false;
      }
      const reason = setAsideReasonOf(error);
      if (reason !== undefined) await setAsides.add(link, reason);
      logger.debug({ err: error, vaultId, reason }, 'tokens of a vault are not looked at: its webhook fails');
      return false;
    }
  };

  const serveAll = async (): Promise<void> => {
    if (!(await mayGoOn())) return;
    await attempts.forget(formatTime(clock.now() - EXPIRED_ATTEMPTS_MS));
    let links: AsyncIterable<WebhookLink> | readonly WebhookLink[] = openLinks(stores.webhookLinks);
    for (let slice = 0; slice < MAX_SLICES; slice++) {
      const unfinished: WebhookLink[] = [];
      await forEachConcurrently(MAX_ACCOUNTS_AT_ONCE, links, async (link) => {
        if (await serveSafely(link)) unfinished.push(link);
      });
      links = unfinished;
    }
  };

  return {
    /** Serves all accounts, if a minute has passed since the last time. Never rejects. */
    tick: (): Promise<void> => {
      if (stopped || clock.monotonic() < nextMs) return Promise.resolve();
      const { promise, resolve } = (round = Promise.withResolvers<void>());
      nextMs = clock.monotonic() + EVERY_MS;
      void serveAll()
        .catch((error: unknown) => {
          if (!stopped) logger.error({ err: error }, 'tokens could not be looked at; it is tried again');
        })
        .finally(resolve);
      return promise;
    },
    /** Starts nothing new, and waits a little for calls in flight; the webhooks end what they have begun. */
    stop: async (): Promise<void> => {
      stopped = true;
      await Promise.race([round.promise, delay(STOP_WITHIN_MS, undefined, { ref: false })]);
      // The caller of `tick` does not wait any longer either.
      round.resolve();
    },
  };
}

function setAsideReasonOf({ failure, isLate }: WebhookCallFailed): SetAsideReason | undefined {
  if (failure === 'garbage') return 'unusable_answers';
  return isLate ? 'slow' : undefined;
}

async function* openLinks(links: Stores['webhookLinks']): AsyncGenerator<WebhookLink> {
  let page: readonly WebhookLink[] = [];
  do {
    page = await links.ofOpenVaults({ after: page.at(-1)?.vaultId, limit: PAGE_OF_VAULTS });
    yield* page;
  } while (page.length === PAGE_OF_VAULTS);
}

/**
 * Rejects as soon as one task does. Not `p-limit`, which takes all items at once: this reads an item, here a row of the
 * database, when a place becomes free.
 */
export async function forEachConcurrently<T>(
  limit: number,
  items: AsyncIterable<T> | Iterable<T>,
  task: (item: T) => Promise<unknown>,
): Promise<void> {
  const iterator = (async function* () {
    yield* items;
  })();
  const worker = async (): Promise<void> => {
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next())
      await task(next.value);
  };
  await Promise.all(Array.from({ length: limit }, worker));
}

/** Bounds the list of a webhook that always returns a cursor. */
const MAX_PAGES = 200;

/** The tokens of a webhook that expire within the hour, page by page. @throws WebhookCallFailed */
async function* expiringTokens(
  webhook: WebhookClient,
  link: WebhookLink,
  clock: Clock,
): AsyncGenerator<readonly TokenMetadata[]> {
  const expiresBefore = formatTime(clock.now() + REFRESH_AHEAD_MS);
  let limit: number = TOKEN_PAGE_SIZES[0];
  let cursor: string | undefined;
  const read = async (): Promise<WebhookAnswer> => {
    const body = { op: 'tokens.list', limit, expiresBefore, ...(cursor !== undefined && { cursor }) };
    try {
      return await webhook.call(link, { path: '/v1/storage', body });
    } catch (error) {
      const smaller = isTooLarge(error) ? smallerTokenPage(limit) : undefined;
      if (smaller === undefined) throw error;
      limit = smaller;
      return read();
    }
  };
  for (let page = 0; page < MAX_PAGES; page++) {
    const { body } = await read();
    yield tokensOf(body, limit);
    if (body['nextCursor'] === undefined) return;
    cursor = cursorSchema.safeParse(body['nextCursor']).data;
    if (cursor === undefined) throw garbage('tokens.list');
  }
}

/** Stops at the first malformed token: describing thousands of them would take longer than reading them. */
function tokensOf({ items }: Record<string, unknown>, limit: number): readonly TokenMetadata[] {
  if (!Array.isArray(items) || items.length > limit) throw garbage('tokens.list');
  return items.map((item) => {
    const { data } = tokenMetadataSchema.safeParse(item);
    if (data === undefined) throw garbage('tokens.list');
    return data;
  });
}
