import type { Logger } from '@svault/server-kit/logger';
import { type Clock, formatTime } from '@svault/shared';
import type { TokenMetadata } from '@svault/shared/schemas';
import { setTimeout as delay } from 'node:timers/promises';
import type { RefreshAttempt } from '../core/refresh-attempt.ts';
import type { Stores } from '../core/stores.ts';
import type { SetAsideReason, WebhookLink } from '../core/webhook-link.ts';
import { WebhookCallFailed } from '../webhook/call-failed.ts';
import type { OnlineStatus } from '../webhook/outages.ts';
import type { WebhookClient } from '../webhook/retrying-client.ts';
import type { SetAsides } from '../webhook/set-aside.ts';
import { expiringTokens } from './expiring-tokens.ts';
import type { TokenRefresh } from './refresh-result.ts';
import { MAX_PAUSE_MS, beginning, isDue, settled } from './schedule.ts';

/** Refreshes tokens before they end, for all accounts. */
export interface RefreshScheduler {
  /** Looks at all accounts if a minute has passed since it last did; meant to be called more often. Never rejects. */
  tick(): Promise<void>;
  /** Begins nothing new. Waits a little for calls under way: what a webhook does goes on without us. */
  stop(): Promise<void>;
}

const EVERY_MS = 60_000;
const PAGE_OF_VAULTS = 100;
/**
 * Accounts at the same time, and how long one of them keeps its place. Who is not done by then comes again behind all others: a
 * webhook that is slow delays its own tokens.
 */
const LANES = 32;
const TURN_MS = 10_000;
const MAX_TURNS = 3;
/** Of a call on average, over a whole turn: a webhook that takes longer is put aside. */
const SLOW_CALL_MS = 2_000;
const STOP_WITHIN_MS = 3_000;
/** An attempt that nobody came back to: its token is gone, or its vault is locked or unbound. */
const FORGOTTEN_AFTER_MS = 24 * 60 * 60_000;

export function createRefreshScheduler(options: {
  readonly stores: Pick<Stores, 'refreshAttempts' | 'tokens' | 'vaults' | 'webhookLinks'>;
  readonly webhook: WebhookClient;
  readonly status: Pick<OnlineStatus, 'offlineForSeconds'>;
  readonly setAsides: SetAsides;
  readonly tokenRefresh: TokenRefresh;
  /** Whether it is this process that looks after all accounts; asked before each piece of work. */
  readonly holdsClaim: () => Promise<boolean>;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly logger: Logger;
}): RefreshScheduler {
  const { stores, webhook, status, setAsides, tokenRefresh, holdsClaim, clock, random, logger } = options;
  const { refreshAttempts: attempts, tokens, vaults, webhookLinks: links } = stores;
  let nextMs = clock.monotonic() + EVERY_MS;
  let stopped = false;
  let inHand: Promise<void> = Promise.resolve();
  let leave = (): void => undefined;

  const mayGoOn = async (): Promise<boolean> => !stopped && (await holdsClaim());

  /** An owner may lock or unbind while the others are seen to. */
  const isOpen = async ({ vaultId, webhookId }: WebhookLink): Promise<boolean> => {
    const [vault, link] = await Promise.all([vaults.get(vaultId), links.find(vaultId)]);
    return vault !== undefined && vault.lockedAt === undefined && link?.webhookId === webhookId;
  };

  const attempt = async (
    { vaultId }: WebhookLink,
    { serviceName, version }: TokenMetadata,
    former: RefreshAttempt | undefined,
  ): Promise<void> => {
    const now = clock.now();
    const begun = beginning(version, former, now);
    const bounds = { now: formatTime(now), latest: formatTime(now + MAX_PAUSE_MS) };
    if (!(await attempts.begin(vaultId, serviceName, begun, bounds))) return;
    const result = await tokenRefresh.refresh(vaultId, serviceName, { reason: 'expiring' });
    const after = settled(begun, result, { nowMs: clock.now(), random: random() });
    await attempts.settle(vaultId, serviceName, after);
  };

  /** Those of a page that are tokens of the account: a webhook may name what it likes. */
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

  /** @returns how many calls it made, and whether there may be more to do */
  const work = async (
    link: WebhookLink,
    hasTime: () => boolean,
  ): Promise<{ calls: number; isDone: boolean }> => {
    let calls = 0;
    for await (const page of expiringTokens(webhook, link, clock)) {
      calls += 1;
      for (const { token, former } of await dueOf(link, page)) {
        if (!hasTime()) return { calls, isDone: false };
        if (!(await mayGoOn()) || !(await isOpen(link))) return { calls, isDone: true };
        await attempt(link, token, former);
        calls += 1;
      }
      // A list may be slow all by itself, and name nothing that is the account's.
      if (!hasTime()) return { calls, isDone: false };
      if (!(await mayGoOn())) return { calls, isDone: true };
    }
    return { calls, isDone: true };
  };

  /** One turn of an account. @returns whether it wants another */
  const seeTo = async (link: WebhookLink): Promise<boolean> => {
    const { vaultId } = link;
    const startMs = clock.monotonic();
    const isOnline = (): boolean => status.offlineForSeconds(vaultId) === 0;
    const hasTime = (): boolean => clock.monotonic() < startMs + TURN_MS && isOnline();
    if (!isOnline() || setAsides.isSetAside(link) || !(await mayGoOn())) return false;
    const { calls, isDone } = await work(link, hasTime);
    const isSlow = clock.monotonic() - startMs >= Math.max(TURN_MS, calls * SLOW_CALL_MS);
    if (isSlow) await setAsides.add(link, 'slow');
    else if (isDone) await setAsides.clear(link);
    return !isDone && !isSlow && isOnline();
  };

  const seeToSafely = async (link: WebhookLink): Promise<boolean> => {
    const { vaultId } = link;
    try {
      return await seeTo(link);
    } catch (error) {
      if (!(error instanceof WebhookCallFailed)) {
        if (!stopped) logger.error({ err: error, vaultId }, 'tokens of a vault could not be refreshed');
        return false;
      }
      const reason = troubleOf(error);
      if (reason !== undefined) await setAsides.add(link, reason);
      logger.debug({ err: error, vaultId, reason }, 'tokens of a vault are not looked at: its webhook fails');
      return false;
    }
  };

  const seeToAll = async (): Promise<void> => {
    if (!(await mayGoOn())) return;
    await attempts.forget(formatTime(clock.now() - FORGOTTEN_AFTER_MS));
    let again: WebhookLink[] = [];
    const turn = async (link: WebhookLink): Promise<void> => {
      if (await seeToSafely(link)) again.push(link);
    };
    await inLanes(LANES, openLinks(links), turn);
    for (let turns = 1; turns < MAX_TURNS && again.length > 0; turns++) {
      const waiting = again;
      again = [];
      await inLanes(LANES, oneByOne(waiting), turn);
    }
  };

  return {
    tick: () => {
      if (stopped || clock.monotonic() < nextMs) return Promise.resolve();
      const { promise, resolve } = Promise.withResolvers<void>();
      [inHand, leave] = [promise, resolve];
      nextMs = clock.monotonic() + EVERY_MS;
      void seeToAll()
        .catch((error: unknown) => {
          if (!stopped) logger.error({ err: error }, 'tokens could not be looked at; it is tried again');
        })
        .finally(resolve);
      return inHand;
    },
    stop: async () => {
      stopped = true;
      await Promise.race([inHand, delay(STOP_WITHIN_MS, undefined, { ref: false })]);
      leave();
    },
  };
}

/** Why a call that failed is a reason to put the webhook aside; undefined: it is none. */
function troubleOf({ failure, isLate }: WebhookCallFailed): SetAsideReason | undefined {
  if (failure === 'garbage') return 'unusable_answers';
  return isLate ? 'slow' : undefined;
}

async function* oneByOne<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

async function* openLinks(links: Stores['webhookLinks']): AsyncGenerator<WebhookLink> {
  let page: readonly WebhookLink[] = [];
  do {
    page = await links.ofOpenVaults({ after: page.at(-1)?.vaultId, limit: PAGE_OF_VAULTS });
    yield* page;
  } while (page.length === PAGE_OF_VAULTS);
}

/** Works on a few items at a time, in any order, until there are none left. Rejects as soon as one does. */
export async function inLanes<T>(
  lanes: number,
  items: AsyncIterator<T>,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const lane = async (): Promise<void> => {
    for (let next = await items.next(); next.done !== true; next = await items.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
