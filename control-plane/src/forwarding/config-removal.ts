import { type Clock, formatTime } from '@svault/shared';
import { storageBatchAnswerSchema } from '@svault/shared/schemas';
import type { Stores } from '../core/stores.ts';
import type { LinkedWebhook } from '../webhook/linked-webhook.ts';
import type { OnlineStatus } from '../webhook/online-status.ts';
import { WebhookCallFailed } from '../webhook/webhook-call-failed.ts';
import type { WebhookLink } from '../core/webhook-link.ts';
import type { OwedRemoval } from '../core/proxy-removal-store.ts';

/** As many as one batch takes. */
const AT_ONCE = 100;
const FIRST_PAUSE_MS = 5_000;
const MAX_PAUSE_MS = 60 * 60_000;
/** Of what only another webhook could take away, in case that one comes back. */
const OTHER_WEBHOOK_PAUSE_MS = 24 * 60 * 60_000;
const TIMEOUT_MS = 2_000;

/**
 * Has webhooks take away the settings of proxies that are gone, until they have answered. Twice is as good as once, so
 * that processes need not agree who does it.
 */
export function createProxyConfigRemoval(options: {
  readonly stores: Pick<Stores, 'proxyRemovals' | 'webhookLinks'>;
  readonly webhook: Pick<LinkedWebhook, 'call'>;
  readonly status: Pick<OnlineStatus, 'offlineForSeconds'>;
  readonly clock: Clock;
}): { run(): Promise<void> } {
  const { stores, webhook, status, clock } = options;
  const { proxyRemovals } = stores;

  const postpone = (removal: OwedRemoval, pauseMs: number, tries: number): Promise<void> =>
    proxyRemovals.postpone(removal, { dueAt: formatTime(clock.now() + pauseMs), tries });

  const later = (removal: OwedRemoval): Promise<void> =>
    postpone(
      removal,
      Math.min(FIRST_PAUSE_MS * 2 ** Math.min(removal.tries, 20), MAX_PAUSE_MS),
      removal.tries + 1,
    );

  /** @returns which of them the webhook has settled */
  const ask = async (link: WebhookLink, owed: readonly OwedRemoval[]): Promise<readonly boolean[]> => {
    if (status.offlineForSeconds(link.vaultId) > 0) return [];
    const batch = owed.map(({ proxyId }) => ({ op: 'proxies.delete', proxyId }));
    try {
      const call = { path: '/v1/storage', body: { batch }, repeat: false, timeoutMs: TIMEOUT_MS } as const;
      const { body } = await webhook.call(link, call);
      return (storageBatchAnswerSchema.safeParse(body).data?.results ?? []).map(isGone);
    } catch (error) {
      if (error instanceof WebhookCallFailed) return [];
      throw error;
    }
  };

  const removeAt = async (owed: readonly OwedRemoval[]): Promise<void> => {
    const [first] = owed;
    const link = first && (await stores.webhookLinks.find(first.vaultId));
    const here = owed.filter(({ webhookId }) => webhookId === link?.webhookId);
    for (const removal of owed)
      if (!here.includes(removal)) await postpone(removal, OTHER_WEBHOOK_PAUSE_MS, removal.tries);
    if (link === undefined || here.length === 0) return;
    const now = formatTime(clock.now());
    const gone = await ask(link, here);
    // The rest of what it owes would only keep other accounts' removals waiting behind it.
    if (gone.length === 0)
      await proxyRemovals.postponeAll(link, { now, dueAt: formatTime(clock.now() + FIRST_PAUSE_MS) });
    for (const [index, removal] of here.entries())
      await (gone[index] === true ? proxyRemovals.settle(removal) : later(removal));
  };

  return {
    run: async () => {
      const due = await proxyRemovals.due(formatTime(clock.now()), AT_ONCE);
      const byVault = Object.values(Object.groupBy(due, ({ vaultId }) => vaultId));
      await Promise.all(byVault.map((owed = []) => removeAt(owed)));
    },
  };
}

/** Taken away now, or not there at all. */
function isGone(result: unknown): boolean {
  if (typeof result !== 'object' || result === null) return false;
  return 'deleted' in result || ('code' in result && result.code === 'NOT_FOUND');
}
