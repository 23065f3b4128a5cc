import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@svault/server-kit/logger';
import type { MasterKeys } from '@svault/server-kit/master-keys';
import { type Clock, type Id, formatTime, newId } from '@svault/shared';
import type { Actor } from '../core/actor.ts';
import { ownOf, recordChange } from '../core/change.ts';
import { ApiError, orNotFound } from '../core/errors.ts';
import type { Proxy } from '../core/proxy.ts';
import type { Change, Stores } from '../core/stores.ts';
import type { WebhookLinkStore } from '../core/webhook-link.ts';
import { type ProxyConfigDelivery, webhookIdOf } from '../forwarding/proxy-config-sync.ts';
import { endProxySessions } from '../forwarding/upstream-session.ts';
import { WebhookCallFailed } from '../webhook/call-failed.ts';
import type { OnlineStatus } from '../webhook/outages.ts';
import { type HealthDependencies, hasCapability } from '../webhook/retrying-client.ts';
import { requireFree } from './free-name.ts';
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
import { requireToken } from './tokens.ts';

/** How a change of settings is checked. */
interface SettingsChecks {
  readonly rules: UpstreamRules;
  /** Whether the account need not have a credential of that name yet; false unless given. */
  readonly allowMissing?: boolean | undefined;
}

/** (new) → active. The key is in the answer. @throws ApiError INVALID_ARGUMENT; CONFLICT where another proxy has the name */
export async function createProxy(
  change: Change,
  input: NewProxy,
  options: SettingsChecks & { readonly clock: Clock; readonly masterKeys: MasterKeys },
): Promise<{ readonly proxy: Proxy; readonly key: string }> {
  const { clock, masterKeys } = options;
  const settings = await allowedSettings(change, input, options);
  requireFree('proxy', await change.proxies.named(change.actor.vaultId, input.name));
  const id = newId('prx');
  const { key, stored } = makeStoredKey(id, masterKeys);
  const proxy: Proxy = {
    ...settings,
    id,
    vaultId: change.actor.vaultId,
    status: 'active',
    keyPrefix: stored.keyPrefix,
    createdAt: formatTime(clock.now()),
    revokedAt: undefined,
    lastUsedAt: undefined,
    revision: 1,
    deliveredAs: undefined,
  };
  await change.proxies.add({ ...proxy, ...stored });
  const { name, kind, upstreamAuthType, agentId, serviceName, upstreamUrl } = settings;
  const what = { name, ...(kind === 'http' && { kind }), upstreamAuthType, upstream: originOf(upstreamUrl) };
  const detail = { ...what, ...(agentId && { agentId }) };
  await recordChange(change, 'PROXY_CREATED', { proxyId: id, serviceName, detail });
  return { proxy, key };
}

/** @throws ApiError INVALID_ARGUMENT; CONFLICT for a revoked one, or where another proxy has the name */
export async function updateProxy(
  change: Change,
  id: string,
  changes: ProxyChanges,
  checks: SettingsChecks,
): Promise<Proxy> {
  const before = await activeProxyOf(change, change.actor, id);
  const settings = await allowedSettings(change, withChanges(before, changes), checks, before.serviceName);
  const members = changedMembers(before, settings);
  if (members.length === 0) return before;
  if (members.includes('name'))
    requireFree('proxy', await change.proxies.named(before.vaultId, settings.name), id);
  const atWebhook = members.some((member) => AT_WEBHOOK.includes(member));
  const proxy = { ...before, ...settings, revision: before.revision + (atWebhook ? 1 : 0) };
  await change.proxies.update(proxy);
  // Its tokens are for the previous upstream, or in the name of the previous agent.
  if (members.includes('upstreamUrl') || members.includes('agentId'))
    await endProxySessions(change, change.actor, proxy.id);
  const upstream = members.includes('upstreamUrl') && { upstream: originOf(proxy.upstreamUrl) };
  const { serviceName } = proxy;
  const detail = { members, ...upstream };
  await recordChange(change, 'PROXY_UPDATED', { proxyId: proxy.id, serviceName, detail });
  return proxy;
}

/** @param named its service name so far, which may be missing. @throws ApiError INVALID_ARGUMENT */
async function allowedSettings(
  change: Change,
  input: NewProxy,
  { rules, allowMissing = false }: SettingsChecks,
  named?: string,
): Promise<Awaited<ReturnType<typeof checkedSettings>>> {
  const settings = await checkedSettings(change, input, rules);
  const { serviceName } = settings;
  if (serviceName !== undefined && serviceName !== named && !allowMissing)
    await requireToken(change, serviceName);
  return settings;
}

/** The members that the webhook stores of a proxy (PROTOCOL.md section 5.3). */
const AT_WEBHOOK: readonly string[] = [
  'upstreamUrl',
  'serviceName',
  'headerTemplates',
  'queryTemplates',
  'redirects',
  'region',
  'service',
];

const originOf = (url: string): string => new URL(url).origin;

/** active → revoked, for good: its key is unknown at once. Revoking a revoked proxy changes nothing. */
export async function revokeProxy(change: Change, id: string, clock: Clock): Promise<Proxy> {
  const proxy = await ownOf(change.proxies, change.actor, id);
  if (proxy.status === 'revoked') return proxy;
  const revokedAt = formatTime(clock.now());
  await endUse(change, proxy, revokedAt);
  const { vaultId, id: proxyId, serviceName } = proxy;
  await change.proxies.markRevoked(vaultId, proxyId, revokedAt);
  await recordChange(change, 'KEY_REVOKED', { proxyId, serviceName });
  return { ...proxy, status: 'revoked', revokedAt };
}

/** Deletes a proxy, revoked or not; the audit log still names it. */
export async function deleteProxy(change: Change, id: string, clock: Clock): Promise<void> {
  const proxy = await ownOf(change.proxies, change.actor, id);
  await endUse(change, proxy, formatTime(clock.now()));
  const { vaultId, id: proxyId, serviceName, name } = proxy;
  await detachAll(change, { type: 'proxy', id: proxyId });
  await change.approvals.removeOf(change.actor.vaultId, { callerId: proxyId });
  await change.proxies.remove(vaultId, proxyId);
  await recordChange(change, 'PROXY_DELETED', { proxyId, serviceName, detail: { name } });
}

/** Ends its sessions at the upstream, and has the webhook remove its settings. */
async function endUse(change: Change, proxy: Proxy, now: string): Promise<void> {
  const { id: proxyId, vaultId, deliveredAs, upstreamAuthType } = proxy;
  await endProxySessions(change, change.actor, proxyId);
  if (upstreamAuthType === 'sv_session') return;
  const link = await change.webhookLinks.find(vaultId);
  // The webhook that has the settings, and the one that a delivery may be on its way to.
  const webhookIds = new Set([webhookIdOf(deliveredAs), link?.webhookId]);
  for (const webhookId of webhookIds)
    if (webhookId !== undefined) await change.proxyRemovals.owe({ vaultId, webhookId, proxyId }, now);
}

/** Reveals the key again, with an event. @throws ApiError CONFLICT for a revoked proxy */
export async function revealProxyKey(change: Change, id: string, masterKeys: MasterKeys): Promise<string> {
  const { vaultId, id: proxyId, serviceName } = await activeProxyOf(change, change.actor, id);
  const wrapped = orNotFound(await change.proxies.wrappedKey(vaultId, proxyId));
  await recordChange(change, 'KEY_REVEALED', { proxyId, serviceName });
  return revealStoredKey(proxyId, wrapped, masterKeys);
}

/** @throws ApiError NOT_FOUND; CONFLICT for a revoked proxy, which nothing reactivates */
export async function activeProxyOf(
  { proxies }: Pick<Stores, 'proxies'>,
  actor: Actor,
  id: string,
): Promise<Proxy> {
  const proxy = await ownOf(proxies, actor, id);
  if (proxy.status === 'revoked') throw new ApiError('CONFLICT', 'This proxy is revoked.');
  return proxy;
}

const UNSUPPORTED = {
  'http-proxy': { what: 'HTTP APIs and `${BASIC:user}`', path: 'kind' },
  'aws-sigv4': { what: 'signatures for AWS', path: 'upstreamAuthType' },
} as const;

/**
 * Checks that the bound webhook has a capability that a proxy needs. It passes where no webhook is bound or the webhook does
 * not answer: settings are never delivered to a webhook without the capability.
 *
 * @throws ApiError INVALID_ARGUMENT
 */
export async function requireCapability(
  health: HealthDependencies & { readonly links: Pick<WebhookLinkStore, 'find'> },
  vaultId: Id<'vlt'>,
  capability: keyof typeof UNSUPPORTED,
): Promise<void> {
  const link = await health.links.find(vaultId);
  if (link === undefined) return;
  try {
    if (await hasCapability(health, link, capability)) return;
  } catch (error) {
    if (error instanceof WebhookCallFailed) return;
    throw error;
  }
  const { what, path } = UNSUPPORTED[capability];
  throw new ApiError(
    'INVALID_ARGUMENT',
    `The webhook of this vault does not support ${what} (\`${capability}\`). Update it first.`,
    { details: { issues: [{ path, message: 'is not supported by the webhook' }] } },
  );
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
    const { id: proxyId, vaultId, serviceName, revision, deliveredAs = null } = proxy;
    if (serviceName === undefined || status.offlineForSeconds(vaultId) > 0) return;
    const link = await stores.webhookLinks.find(vaultId);
    if (link === undefined) return;
    await delivery.ensure(link, { proxyId, revision, deliveredAs });
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
