import { type Clock, type Id, formatTime } from '@svault/shared';
import { storageAnswerSchemas, storageBatchAnswerSchema } from '@svault/shared/schemas';
import type { ProxyConfig } from '../access/decision.ts';
import { type OwedRemoval, type Proxy, templatesOf } from '../core/proxy.ts';
import type { Stores, UnitOfWork } from '../core/stores.ts';
import type { WebhookLink } from '../core/webhook-link.ts';
import { WebhookCallFailed } from '../webhook/call-failed.ts';
import type { OnlineStatus } from '../webhook/outages.ts';
import type { WebhookClient } from '../webhook/retrying-client.ts';

/** What `deliveredAs` says once this revision is at this webhook. */
export const deliveryMark = (webhookId: string, revision: number): string => `${webhookId} ${revision}`;

/** The webhook that a proxy's settings were last given to. */
export const webhookOf = (deliveredAs: string | undefined): string | undefined =>
  deliveredAs?.slice(0, deliveredAs.lastIndexOf(' '));

/** Keeps the webhook's copy of proxies in step. */
export interface ProxyConfigDelivery {
  /**
   * Gives the webhook a proxy's settings, where it does not have this revision yet.
   * @throws WebhookCallFailed
   */
  ensure(link: WebhookLink, proxy: ProxyConfig): Promise<void>;
  /** The webhook does not know it after all (a backup was restored): the next `ensure` gives it again. */
  forgetDelivery(vaultId: Id<'vlt'>, proxyId: Id<'prx'>): Promise<void>;
}

/** How often a put is tried anew because another process was faster; each of those has brought a later revision. */
const MAX_TRIES = 5;

export function createProxyConfigDelivery(options: {
  readonly stores: Pick<Stores, 'proxies'>;
  readonly unitOfWork: UnitOfWork;
  readonly webhook: WebhookClient;
  readonly clock: Clock;
}): ProxyConfigDelivery {
  const { stores, unitOfWork, webhook, clock } = options;
  const { proxies } = stores;
  /** Deliveries under way, so that any number of requests with one proxy make one. */
  const underWay = new Map<string, Promise<void>>();

  const ask = async (link: WebhookLink, operation: object): Promise<Record<string, unknown>> =>
    (await webhook.call(link, { path: '/v1/storage', body: operation })).body;

  /** 0: it knows none. */
  const versionAt = async (link: WebhookLink, proxyId: Id<'prx'>): Promise<number> => {
    try {
      const body = await ask(link, { op: 'proxies.get', proxyId });
      return readConfig(body, proxyId).version;
    } catch (error) {
      if (isRefusal(error, 'NOT_FOUND')) return 0;
      throw error;
    }
  };

  const put = async (link: WebhookLink, proxy: Proxy, ifVersion: number): Promise<void> => {
    const { id: proxyId, serviceName, upstreamUrl } = proxy;
    const settings = { proxyId, serviceName, upstreamUrl, headerTemplates: templatesOf(proxy) };
    readConfig(await ask(link, { op: 'proxies.put', ...settings, ifVersion }), proxyId);
  };

  /** Gives what the proxy is by now: the version is asked for first, so that no slow call brings an earlier one back. */
  const deliver = async (link: WebhookLink, proxyId: Id<'prx'>, tries: number): Promise<void> => {
    const { vaultId, webhookId } = link;
    const version = await versionAt(link, proxyId);
    const proxy = await proxies.get(vaultId, proxyId);
    // Revoked a moment ago: what this request may still do does not bring it back.
    if (proxy?.status !== 'active' || proxy.upstreamAuthType !== 'Token') return;
    try {
      await put(link, proxy, version);
    } catch (error) {
      if (tries === 1 || !isRefusal(error, 'VERSION_CONFLICT')) throw error;
      return deliver(link, proxyId, tries - 1);
    }
    if (!(await proxies.noteDelivered(proxy, deliveryMark(webhookId, proxy.revision))))
      await takeBack(link, proxyId);
  };

  /** It was revoked while its settings were on their way; one that was only changed is given by whoever changed it. */
  const takeBack = ({ vaultId, webhookId }: WebhookLink, proxyId: Id<'prx'>): Promise<void> =>
    unitOfWork.run(vaultId, async (inside) => {
      if ((await inside.proxies.get(vaultId, proxyId))?.status === 'active') return;
      await inside.proxyRemovals.owe({ vaultId, webhookId, proxyId }, formatTime(clock.now()));
    });

  return {
    ensure: (link, { proxyId, revision, deliveredAs }) => {
      const mark = deliveryMark(link.webhookId, revision);
      if (deliveredAs === mark) return Promise.resolve();
      const key = `${proxyId} ${mark}`;
      const shared =
        underWay.get(key) ?? deliver(link, proxyId, MAX_TRIES).finally(() => underWay.delete(key));
      underWay.set(key, shared);
      return shared;
    },
    forgetDelivery: (vaultId, proxyId) => proxies.forgetDelivery(vaultId, proxyId),
  };
}

const isRefusal = (error: unknown, code: string): boolean =>
  error instanceof WebhookCallFailed && error.code === code;

/** @throws WebhookCallFailed where what answers keeps no proxies */
function readConfig(body: Record<string, unknown>, proxyId: string): { readonly version: number } {
  const { data } = storageAnswerSchemas['proxies.get'].safeParse(body);
  if (data?.proxyId === proxyId) return data;
  throw new WebhookCallFailed('garbage', 'the answer is no proxy’s settings');
}

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
  readonly webhook: WebhookClient;
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
      const call = { path: '/v1/storage', body: { batch }, timeoutMs: TIMEOUT_MS } as const;
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
