import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@svault/server-kit/logger';
import type { MasterKeys } from '@svault/server-kit/master-keys';
import { type Clock, formatTime, newId } from '@svault/shared';
import { type Actor, eventBy } from '../core/actor.ts';
import { orNotFound, ApiError } from '../core/errors.ts';
import { type Proxy, templatesOf } from '../core/proxy.ts';
import type { Stores } from '../core/stores.ts';
import { type ProxyConfigDelivery, webhookIdOf } from '../forwarding/proxy-config-sync.ts';
import { endProxySessions } from '../forwarding/upstream-session.ts';
import type { OnlineStatus } from '../webhook/outages.ts';
import { detachAll } from './policy-attachments.ts';
import {
  type NewProxy,
  type ProxyChanges,
  type UpstreamRules,
  changedMembers,
  checkedSettings,
  withChanges,
} from './proxy-settings.ts';
import { makeStoredKey, revealStoredKey } from './stored-keys.ts';

type ProxyStores = Pick<Stores, 'agents' | 'audit' | 'proxies'>;
type EndingStores = Pick<
  Stores,
  'audit' | 'oauthSessions' | 'proxies' | 'proxyRemovals' | 'sessions' | 'webhookLinks'
>;

/** (new) → active. The key is in the answer. @throws ApiError INVALID_ARGUMENT */
export async function createProxy(
  stores: ProxyStores,
  actor: Actor,
  input: NewProxy,
  options: { readonly clock: Clock; readonly masterKeys: MasterKeys; readonly rules: UpstreamRules },
): Promise<{ readonly proxy: Proxy; readonly key: string }> {
  const { clock, masterKeys, rules } = options;
  const settings = await checkedSettings(stores, actor, input, rules);
  const id = newId('prx');
  const { key, stored } = makeStoredKey(id, masterKeys);
  const proxy: Proxy = {
    ...settings,
    id,
    vaultId: actor.vaultId,
    status: 'active',
    keyPrefix: stored.keyPrefix,
    createdAt: formatTime(clock.now()),
    revokedAt: undefined,
    lastUsedAt: undefined,
    revision: 1,
    deliveredAs: undefined,
  };
  await stores.proxies.add({ ...proxy, ...stored });
  const { name, upstreamAuthType, agentId, serviceName, upstreamUrl } = settings;
  const detail = { name, upstreamAuthType, upstream: originOf(upstreamUrl), ...(agentId && { agentId }) };
  await stores.audit.append(eventBy(actor, 'PROXY_CREATED', { proxyId: id, serviceName, detail }));
  return { proxy, key };
}

/** @throws ApiError INVALID_ARGUMENT; CONFLICT for a revoked one */
export async function updateProxy(
  stores: ProxyStores & EndingStores,
  actor: Actor,
  id: string,
  changes: ProxyChanges,
  rules: UpstreamRules,
): Promise<Proxy> {
  const before = await activeProxyOf(stores, actor, id);
  const settings = await checkedSettings(stores, actor, withChanges(before, changes), rules);
  const members = changedMembers(before, settings);
  if (members.length === 0) return before;
  const atWebhook = members.some((member) => AT_WEBHOOK.includes(member));
  const proxy = { ...before, ...settings, revision: before.revision + (atWebhook ? 1 : 0) };
  await stores.proxies.update(proxy);
  // Its tokens are for the previous upstream, or in the name of the previous agent.
  if (members.includes('upstreamUrl') || members.includes('agentId'))
    await endProxySessions(stores, actor, proxy.id);
  const { serviceName } = proxy;
  const upstream = members.includes('upstreamUrl') && { upstream: originOf(proxy.upstreamUrl) };
  const detail = { members, ...upstream };
  await stores.audit.append(eventBy(actor, 'PROXY_UPDATED', { proxyId: proxy.id, serviceName, detail }));
  return proxy;
}

/** The members that the webhook stores of a proxy (PROTOCOL.md section 5.3). */
const AT_WEBHOOK: readonly string[] = ['upstreamUrl', 'serviceName', 'headerTemplates'];

const originOf = (url: string): string => new URL(url).origin;

/** active → revoked, for good: its key is unknown at once. Revoking a revoked proxy changes nothing. */
export async function revokeProxy(
  stores: EndingStores,
  actor: Actor,
  id: string,
  clock: Clock,
): Promise<Proxy> {
  const proxy = await proxyOf(stores, actor, id);
  if (proxy.status === 'revoked') return proxy;
  const revokedAt = formatTime(clock.now());
  await endUse(stores, actor, proxy, revokedAt);
  await stores.proxies.markRevoked(actor.vaultId, proxy.id, revokedAt);
  const { id: proxyId, serviceName } = proxy;
  await stores.audit.append(eventBy(actor, 'KEY_REVOKED', { proxyId, serviceName }));
  return { ...proxy, status: 'revoked', revokedAt };
}

/** Deletes a proxy, revoked or not; the audit log still names it. */
export async function deleteProxy(
  stores: EndingStores & Pick<Stores, 'policies'>,
  actor: Actor,
  id: string,
  clock: Clock,
): Promise<void> {
  const proxy = await proxyOf(stores, actor, id);
  await endUse(stores, actor, proxy, formatTime(clock.now()));
  await detachAll(stores, actor, { type: 'proxy', id: proxy.id });
  await stores.proxies.remove(actor.vaultId, proxy.id);
  const { serviceName, name } = proxy;
  const facts = { proxyId: proxy.id, serviceName, detail: { name } };
  await stores.audit.append(eventBy(actor, 'PROXY_DELETED', facts));
}

/** Ends its sessions at the upstream, and has the webhook remove its settings. */
async function endUse(stores: EndingStores, actor: Actor, proxy: Proxy, now: string): Promise<void> {
  const { id: proxyId, vaultId, deliveredAs, upstreamAuthType } = proxy;
  await endProxySessions(stores, actor, proxyId);
  if (upstreamAuthType !== 'Token') return;
  const link = await stores.webhookLinks.find(vaultId);
  // The webhook that has the settings, and the one that a delivery may be on its way to.
  const webhookIds = new Set([webhookIdOf(deliveredAs), link?.webhookId]);
  for (const webhookId of webhookIds)
    if (webhookId !== undefined) await stores.proxyRemovals.owe({ vaultId, webhookId, proxyId }, now);
}

/** Reveals the key again, with an event. @throws ApiError CONFLICT for a revoked proxy */
export async function revealProxyKey(
  stores: ProxyStores,
  actor: Actor,
  id: string,
  masterKeys: MasterKeys,
): Promise<string> {
  const { id: proxyId, serviceName } = await activeProxyOf(stores, actor, id);
  const wrapped = orNotFound(await stores.proxies.wrappedKey(actor.vaultId, proxyId));
  const key = revealStoredKey(proxyId, wrapped, masterKeys);
  await stores.audit.append(eventBy(actor, 'KEY_REVEALED', { proxyId, serviceName }));
  return key;
}

/** @throws ApiError NOT_FOUND */
export const proxyOf = async (stores: Pick<Stores, 'proxies'>, actor: Actor, id: string): Promise<Proxy> =>
  orNotFound(await stores.proxies.get(actor.vaultId, id));

/** @throws ApiError NOT_FOUND; CONFLICT for a revoked proxy, which nothing reactivates */
export async function activeProxyOf(
  stores: Pick<Stores, 'proxies'>,
  actor: Actor,
  id: string,
): Promise<Proxy> {
  const proxy = await proxyOf(stores, actor, id);
  if (proxy.status === 'revoked') throw new ApiError('CONFLICT', 'This proxy is revoked.');
  return proxy;
}

/**
 * Delivers the settings of a new or changed proxy to the webhook, and waits two seconds at most. Where the webhook cannot be
 * reached, the proxy's next request delivers them.
 *
 * @returns the proxy as it is afterwards
 */
export type OfferConfig = (proxy: Proxy) => Promise<Proxy>;

const OFFER_TIMEOUT_MS = 2_000;

export function createOfferConfig(options: {
  readonly stores: Pick<Stores, 'proxies' | 'webhookLinks'>;
  readonly delivery: Pick<ProxyConfigDelivery, 'ensure'>;
  readonly status: Pick<OnlineStatus, 'offlineForSeconds'>;
  readonly logger: Logger;
}): OfferConfig {
  const { stores, delivery, status, logger } = options;

  const offer = async (proxy: Proxy): Promise<void> => {
    const { id: proxyId, vaultId, serviceName, upstreamUrl, revision, deliveredAs = null } = proxy;
    if (serviceName === undefined || status.offlineForSeconds(vaultId) > 0) return;
    const link = await stores.webhookLinks.find(vaultId);
    if (link === undefined) return;
    const headerTemplates = templatesOf(proxy);
    const settings = { proxyId, serviceName, upstreamUrl, headerTemplates, revision, deliveredAs };
    await delivery.ensure(link, settings);
  };

  return async (proxy) => {
    // It continues after the timeout: a slow delivery must not mark the webhook as offline.
    const offered = offer(proxy).catch((error: unknown) => {
      logger.info({ err: error, proxyId: proxy.id }, 'the webhook has not taken a proxy’s settings yet');
    });
    await Promise.race([offered, delay(OFFER_TIMEOUT_MS, undefined, { ref: false })]);
    return (await stores.proxies.get(proxy.vaultId, proxy.id)) ?? proxy;
  };
}
