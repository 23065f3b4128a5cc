import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@svault/server-kit/logger';
import { type Clock, formatTime } from '@svault/shared';
import type { TokenMetadata } from '@svault/shared/schemas';
import type { Stores } from '../unit-of-work.ts';
import type { LinkedWebhook } from '../webhook-link/linked-webhook.ts';
import type { OnlineStatus } from '../webhook-link/online-status.ts';
import { WebhookCallFailed } from '../webhook-link/webhook-call-failed.ts';
import type { WebhookLink } from '../webhook-link/webhook-link.ts';
import type { RefreshAttempt } from './attempt-store.ts';
import { isDue } from './due-tokens.ts';
import { inLanes } from './lanes.ts';
import { LONGEST_PAUSE_MS, beginning, settled } from './next-attempt.ts';
import type { TokenRefresh } from './refresh-result.ts';
import { expiringTokens } from './expiring-tokens.ts';

/** Refreshes tokens before they end, for all accounts. */
export interface RefreshScheduler {
  /** Looks at all accounts if a minute has passed since it last did; meant to be called more often. Never rejects. */
  tick(): Promise<void>;
  /** Begins nothing new. Waits a little for calls under way: what a webhook does goes on without us. */
  stop(): Promise<void>;
}

const EVERY_MS = 60_000;
const PAGE_OF_VAULTS = 100;
/** A webhook that is slow keeps one lane, and not for long. */
const LANES = 8;
const LONGEST_FOR_ONE_VAULT_MS = 30_000;
const STOP_WITHIN_MS = 3_000;
/** An attempt that nobody came back to: its token is gone, or its vault is locked or unbound. */
const FORGOTTEN_AFTER_MS = 24 * 60 * 60_000;

export function createRefreshScheduler(options: {
  readonly stores: Pick<Stores, 'refreshAttempts' | 'tokens' | 'vaults' | 'webhookLinks'>;
  readonly webhook: Pick<LinkedWebhook, 'call'>;
  readonly status: Pick<OnlineStatus, 'offlineForSeconds'>;
  readonly tokenRefresh: TokenRefresh;
  /** Whether it is this process that looks after all accounts; asked before each piece of work. */
  readonly holdsClaim: () => Promise<boolean>;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly logger: Logger;
}): RefreshScheduler {
  const { stores, webhook, status, tokenRefresh, holdsClaim, clock, random, logger } = options;
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
    const bounds = { now: formatTime(now), latest: formatTime(now + LONGEST_PAUSE_MS) };
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

  const seeTo = async (link: WebhookLink): Promise<void> => {
    const { vaultId } = link;
    const endMs = clock.monotonic() + LONGEST_FOR_ONE_VAULT_MS;
    const hasTime = (): boolean => clock.monotonic() < endMs && status.offlineForSeconds(vaultId) === 0;
    if (!hasTime() || !(await mayGoOn())) return;
    for await (const page of expiringTokens(webhook, link, clock)) {
      for (const { token, former } of await dueOf(link, page)) {
        if (!hasTime() || !(await mayGoOn()) || !(await isOpen(link))) return;
        await attempt(link, token, former);
      }
      // A list may be slow all by itself, and name nothing that is the account's.
      if (!hasTime() || !(await mayGoOn())) return;
    }
  };

  const seeToAll = async (): Promise<void> => {
    if (!(await mayGoOn())) return;
    await attempts.forget(formatTime(clock.now() - FORGOTTEN_AFTER_MS));
    await inLanes(LANES, openLinks(links), (link) =>
      seeTo(link).catch((error: unknown) => {
        const { vaultId } = link;
        if (error instanceof WebhookCallFailed)
          logger.debug({ err: error, vaultId }, 'tokens of a vault are not looked at: its webhook fails');
        else if (!stopped) logger.error({ err: error, vaultId }, 'tokens of a vault could not be refreshed');
      }),
    );
  };

  return {
    tick: () => {
      if (stopped || clock.monotonic() < nextMs) return Promise.resolve();
      const { promise, resolve } = Promise.withResolvers<void>();
      [inHand, leave] = [promise, resolve];
      void seeToAll()
        .catch((error: unknown) => {
          if (!stopped) logger.error({ err: error }, 'tokens could not be looked at; it is tried again');
        })
        .finally(() => {
          nextMs = clock.monotonic() + EVERY_MS;
          resolve();
        });
      return inHand;
    },
    stop: async () => {
      stopped = true;
      await Promise.race([inHand, delay(STOP_WITHIN_MS, undefined, { ref: false })]);
      leave();
    },
  };
}

async function* openLinks(links: Stores['webhookLinks']): AsyncGenerator<WebhookLink> {
  let page: readonly WebhookLink[] = [];
  do {
    page = await links.ofOpenVaults({ after: page.at(-1)?.vaultId, limit: PAGE_OF_VAULTS });
    yield* page;
  } while (page.length === PAGE_OF_VAULTS);
}
