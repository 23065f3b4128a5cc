import { createSingleFlight } from '@svault/server-kit/single-flight';
import { type Clock, type Id, formatTime } from '@svault/shared';
import { storageAnswerSchemas, storageBatchAnswerSchema } from '@svault/shared/schemas';
import type { ProxyConfig } from '../access/decision.ts';
import { type OwedRemoval, type Proxy, httpMembers, neededCapability, templatesOf } from '../core/proxy.ts';
import type { Stores, UnitOfWork } from '../core/stores.ts';
import type { WebhookLink } from '../core/webhook-link.ts';
import { WebhookCallFailed } from '../webhook/call-failed.ts';
import type { OnlineStatus } from '../webhook/outages.ts';
import { type WebhookClient, hasCapability } from '../webhook/retrying-client.ts';

/** The value of `deliveredAs` once this webhook has this revision. */
export const deliveryMark = (webhookId: string, revision: number): string => `${webhookId} ${revision}`;

/** The id of the webhook that a proxy's settings were last delivered to. */
export const webhookIdOf = (deliveredAs: string | undefined): string | undefined =>
  deliveredAs?.slice(0, deliveredAs.lastIndexOf(' '));

/** Keeps the webhook's copy of a proxy's settings up to date. */
export type ProxyConfigDelivery = ReturnType<typeof createProxyConfigDelivery>;

/** The webhook would take an HTTP API for an MCP server, not sign, or send `${BASIC:user}` unreplaced. */
export class UnsupportedProxy extends Error {
  readonly capability: string;

  constructor(capability: string) {
    super(`the webhook has no capability ${capability}`);
    this.name = 'UnsupportedProxy';
    this.capability = capability;
  }
}

/** How often a put is tried while other processes deliver later revisions. */
const MAX_TRIES = 5;

export function createProxyConfigDelivery(options: {
  readonly stores: Pick<Stores, 'proxies' | 'webhookLinks'>;
  readonly unitOfWork: UnitOfWork;
  readonly webhook: WebhookClient;
  readonly clock: Clock;
}) {
  const { stores, unitOfWork, webhook, clock } = options;
  const { proxies } = stores;
  const health = { links: stores.webhookLinks, webhook, clock };
  const once = createSingleFlight<void>();

  const ask = async (link: WebhookLink, operation: object): Promise<Record<string, unknown>> =>
    (await webhook.call(link, { path: '/v1/storage', body: operation })).body;

  /** @returns 0 where the webhook has none */
  const versionAt = async (link: WebhookLink, proxyId: Id<'prx'>): Promise<number> => {
    try {
      const body = await ask(link, { op: 'proxies.get', proxyId });
      return readConfig(body, proxyId).version;
    } catch (error) {
      if (isKnownError(error, 'NOT_FOUND')) return 0;
      throw error;
    }
  };

  const put = async (link: WebhookLink, proxy: Proxy, ifVersion: number): Promise<void> => {
    const { id: proxyId, serviceName, upstreamUrl } = proxy;
    const further = { headerTemplates: templatesOf(proxy), ...httpMembers(proxy) };
    const settings = { proxyId, serviceName, upstreamUrl, ...further };
    readConfig(await ask(link, { op: 'proxies.put', ...settings, ifVersion }), proxyId);
  };

  /** Delivers the current settings. The version is read first, so that no slow put restores earlier ones. */
  const deliver = async (link: WebhookLink, proxyId: Id<'prx'>, tries: number): Promise<void> => {
    const { vaultId, webhookId } = link;
    const version = await versionAt(link, proxyId);
    const proxy = await proxies.get(vaultId, proxyId);
    // Revoked since the decision: the settings stay deleted.
    if (proxy?.status !== 'active' || proxy.upstreamAuthType === 'sv_session') return;
    const needed = neededCapability(proxy);
    if (needed !== undefined && !(await hasCapability(health, link, needed)))
      throw new UnsupportedProxy(needed);
    try {
      await put(link, proxy, version);
    } catch (error) {
      if (tries === 1 || !isKnownError(error, 'VERSION_CONFLICT')) throw error;
      return deliver(link, proxyId, tries - 1);
    }
    if (!(await proxies.noteDelivered(proxy, deliveryMark(webhookId, proxy.revision))))
      await removeIfRevoked(link, proxyId);
  };

  /** Schedules the removal of a proxy that was revoked during the delivery. A changed one is delivered by its change. */
  const removeIfRevoked = ({ vaultId, webhookId }: WebhookLink, proxyId: Id<'prx'>): Promise<void> =>
    unitOfWork.run(vaultId, async (inside) => {
      if ((await inside.proxies.get(vaultId, proxyId))?.status === 'active') return;
      await inside.proxyRemovals.owe({ vaultId, webhookId, proxyId }, formatTime(clock.now()));
    });

  return {
    /** Delivers a proxy's settings, unless the webhook has this revision. @throws WebhookCallFailed, UnsupportedProxy */
    ensure: (
      link: WebhookLink,
      { proxyId, revision, deliveredAs }: Pick<ProxyConfig, 'proxyId' | 'revision' | 'deliveredAs'>,
    ): Promise<void> => {
      const mark = deliveryMark(link.webhookId, revision);
      if (deliveredAs === mark) return Promise.resolve();
      return once(`${proxyId} ${mark}`, () => deliver(link, proxyId, MAX_TRIES));
    },
    /** The webhook has lost the settings, by a restored backup: the next `ensure` delivers them again. */
    forgetDelivery: (vaultId: Id<'vlt'>, proxyId: Id<'prx'>): Promise<void> =>
      proxies.forgetDelivery(vaultId, proxyId),
  };
}

const isKnownError = (error: unknown, code: string): boolean =>
  error instanceof WebhookCallFailed && error.code === code;

/** @throws WebhookCallFailed where the answer is not the proxy's settings */
function readConfig(body: Record<string, unknown>, proxyId: string): { readonly version: number } {
  const { data } = storageAnswerSchemas['proxies.get'].safeParse(body);
  if (data?.proxyId === proxyId) return data;
  throw new WebhookCallFailed('garbage', 'the answer has no settings of the proxy');
}

/** The operations of one batch. */
const BATCH = 100;
const FIRST_PAUSE_MS = 5_000;
const MAX_PAUSE_MS = 60 * 60_000;
/** For settings at a webhook that is not bound, which may be bound again. */
const OTHER_WEBHOOK_PAUSE_MS = 24 * 60 * 60_000;
const TIMEOUT_MS = 2_000;

/**
 * The background job that deletes the settings of revoked proxies at their webhooks. Deleting twice is harmless, so
 * processes need not coordinate.
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

  const retryLater = (removal: OwedRemoval): Promise<void> => {
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(removal.tries, 20), MAX_PAUSE_MS);
    return postpone(removal, pauseMs, removal.tries + 1);
  };

  /** @returns for each removal whether the webhook has none of its settings any more */
  const requestRemoval = async (
    link: WebhookLink,
    owed: readonly OwedRemoval[],
  ): Promise<readonly boolean[]> => {
    if (status.offlineForSeconds(link.vaultId) > 0) return [];
    const batch = owed.map(({ proxyId }) => ({ op: 'proxies.delete', proxyId }));
    try {
      const call = { path: '/v1/storage', body: { batch }, timeoutMs: TIMEOUT_MS } as const;
      const { body } = await webhook.call(link, call);
      return (storageBatchAnswerSchema.safeParse(body).data?.results ?? []).map(isRemoved);
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
    const removed = await requestRemoval(link, here);
    // The account's other removals would only delay those of other accounts.
    if (removed.length === 0)
      await proxyRemovals.postponeAll(link, { now, dueAt: formatTime(clock.now() + FIRST_PAUSE_MS) });
    for (const [index, removal] of here.entries())
      await (removed[index] === true ? proxyRemovals.settle(removal) : retryLater(removal));
  };

  return {
    run: async () => {
      const due = await proxyRemovals.due(formatTime(clock.now()), BATCH);
      const byVault = Object.values(Object.groupBy(due, ({ vaultId }) => vaultId));
      await Promise.all(byVault.map((owed = []) => removeAt(owed)));
    },
  };
}

/** Deleted now, or absent before. */
function isRemoved(result: unknown): boolean {
  if (typeof result !== 'object' || result === null) return false;
  return 'deleted' in result || ('code' in result && result.code === 'NOT_FOUND');
}
