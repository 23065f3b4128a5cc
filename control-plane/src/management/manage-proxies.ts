import { isDeepStrictEqual } from 'node:util';
import { type Clock, formatTime, newId } from '@svault/shared';
import type { MasterKeys } from '@svault/server-kit/master-keys';
import { type Actor, eventBy } from '../core/actor.ts';
import { invalidArgument, notFound, refusal } from '../core/errors.ts';
import { detachAll } from './detach-all.ts';
import type { Stores } from '../core/stores.ts';
import { endProxySessions } from '../forwarding/upstream-session.ts';
import { webhookOf } from '../forwarding/proxy-config-sync.ts';
import { makeProxyKey, openProxyKey } from './proxy-keys.ts';
import { type ProxySettings, type UpstreamRules, issuesOfSettings } from './proxy-rules.ts';
import { DEFAULT_TEMPLATES, type Proxy } from '../core/proxy.ts';

type ProxyStores = Pick<Stores, 'agents' | 'audit' | 'proxies'>;
type EndingStores = Pick<
  Stores,
  'audit' | 'oauthSessions' | 'proxies' | 'proxyRemovals' | 'sessions' | 'webhookLinks'
>;

/** As an owner names it: an agent's id is any text. */
export type NewProxy = Omit<ProxySettings, 'agentId'> & { readonly agentId: string | undefined };

/** Undefined members stay as they are; null takes the agent away, or brings the usual templates back. */
export interface ProxyChanges {
  readonly name?: string | undefined;
  readonly upstreamUrl?: string | undefined;
  readonly serviceName?: string | undefined;
  readonly agentId?: string | null | undefined;
  readonly headerTemplates?: Readonly<Record<string, string>> | null | undefined;
}

/** (new) → active, with a key that is shown here once. @throws AppError INVALID_ARGUMENT */
export async function createProxy(
  stores: ProxyStores,
  actor: Actor,
  input: NewProxy,
  options: { readonly clock: Clock; readonly masterKeys: MasterKeys; readonly rules: UpstreamRules },
): Promise<{ readonly proxy: Proxy; readonly key: string }> {
  const { clock, masterKeys, rules } = options;
  const settings = await checkedSettings(stores, actor, input, rules);
  const id = newId('prx');
  const { key, stored } = makeProxyKey(id, masterKeys);
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

/** @throws AppError INVALID_ARGUMENT; CONFLICT for a revoked one */
export async function updateProxy(
  stores: ProxyStores & EndingStores,
  actor: Actor,
  id: string,
  changes: ProxyChanges,
  rules: UpstreamRules,
): Promise<Proxy> {
  const before = await proxyToChange(stores, actor, id);
  const settings = await checkedSettings(stores, actor, merged(before, changes), rules);
  const members = SETTINGS.filter((member) => !isDeepStrictEqual(settings[member], before[member]));
  if (members.length === 0) return before;
  const atWebhook = members.some((member) => AT_WEBHOOK.includes(member));
  const proxy = { ...before, ...settings, revision: before.revision + (atWebhook ? 1 : 0) };
  await stores.proxies.update(proxy);
  // Its tokens are for the former upstream, or in the former agent's name.
  if (members.includes('upstreamUrl') || members.includes('agentId'))
    await endProxySessions(stores, actor, proxy.id);
  const { serviceName } = proxy;
  const upstream = members.includes('upstreamUrl') && { upstream: originOf(proxy.upstreamUrl) };
  const detail = { members, ...upstream };
  await stores.audit.append(eventBy(actor, 'PROXY_UPDATED', { proxyId: proxy.id, serviceName, detail }));
  return proxy;
}

/** active → revoked, for good. Its key is unknown from the moment this is answered. A repeat changes nothing. */
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

/** Deletes a proxy, revoked or not; the log still names it. */
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

/** The proxy's key once more; an audited action. @throws AppError CONFLICT for a revoked one */
export async function revealProxyKey(
  stores: ProxyStores,
  actor: Actor,
  id: string,
  masterKeys: MasterKeys,
): Promise<string> {
  const { id: proxyId, serviceName } = await proxyToChange(stores, actor, id);
  const wrapped = await stores.proxies.wrappedKey(actor.vaultId, proxyId);
  if (wrapped === undefined) throw notFound();
  const key = openProxyKey(proxyId, wrapped, masterKeys);
  await stores.audit.append(eventBy(actor, 'KEY_REVEALED', { proxyId, serviceName }));
  return key;
}

/** @throws AppError NOT_FOUND */
export async function proxyOf(stores: Pick<Stores, 'proxies'>, actor: Actor, id: string): Promise<Proxy> {
  const proxy = await stores.proxies.get(actor.vaultId, id);
  if (proxy === undefined) throw notFound();
  return proxy;
}

/** @throws AppError NOT_FOUND; CONFLICT for a revoked one, which nothing brings back */
export async function proxyToChange(
  stores: Pick<Stores, 'proxies'>,
  actor: Actor,
  id: string,
): Promise<Proxy> {
  const proxy = await proxyOf(stores, actor, id);
  if (proxy.status === 'revoked') throw refusal('CONFLICT', 'This proxy is revoked.');
  return proxy;
}

const SETTINGS = [
  'name',
  'upstreamUrl',
  'serviceName',
  'agentId',
  'headerTemplates',
] as const satisfies readonly (keyof ProxySettings)[];
/** What the webhook keeps of a proxy (protocol.md 5.3). */
const AT_WEBHOOK: readonly string[] = ['upstreamUrl', 'serviceName', 'headerTemplates'];

const merged = (before: Proxy, changes: ProxyChanges): NewProxy => ({
  name: changes.name ?? before.name,
  upstreamUrl: changes.upstreamUrl ?? before.upstreamUrl,
  upstreamAuthType: before.upstreamAuthType,
  serviceName: changes.serviceName ?? before.serviceName,
  agentId: changes.agentId === undefined ? before.agentId : (changes.agentId ?? undefined),
  headerTemplates:
    changes.headerTemplates === undefined ? before.headerTemplates : (changes.headerTemplates ?? undefined),
});

const NO_SUCH_AGENT = { path: 'agentId', message: 'is no agent of this account, or a deleted one' };

/** @throws AppError INVALID_ARGUMENT with all that is wrong */
async function checkedSettings(
  stores: Pick<Stores, 'agents'>,
  { vaultId }: Actor,
  input: NewProxy,
  rules: UpstreamRules,
): Promise<ProxySettings> {
  const { agentId, upstreamAuthType, headerTemplates } = input;
  const agent = agentId === undefined ? undefined : await stores.agents.get(vaultId, agentId);
  const settings: ProxySettings = {
    ...input,
    agentId: agent?.id,
    headerTemplates: headerTemplates ?? (upstreamAuthType === 'Token' ? DEFAULT_TEMPLATES : undefined),
  };
  const isAbsent = agentId !== undefined && (agent === undefined || agent.status === 'deleted');
  const issues = isAbsent
    ? [NO_SUCH_AGENT, ...issuesOfSettings(settings, rules).filter(({ path }) => path !== 'agentId')]
    : issuesOfSettings(settings, rules);
  if (issues.length > 0) throw invalidArgument(issues);
  return settings;
}

/** Whatever it could still be used by: its session at the upstream, and the webhook's copy of its settings. */
async function endUse(stores: EndingStores, actor: Actor, proxy: Proxy, now: string): Promise<void> {
  const { id: proxyId, vaultId, deliveredAs, upstreamAuthType } = proxy;
  await endProxySessions(stores, actor, proxyId);
  if (upstreamAuthType !== 'Token') return;
  const link = await stores.webhookLinks.find(vaultId);
  // Where it was given last, and where it may be on its way to.
  const webhookIds = new Set([webhookOf(deliveredAs), link?.webhookId]);
  for (const webhookId of webhookIds)
    if (webhookId !== undefined) await stores.proxyRemovals.owe({ vaultId, webhookId, proxyId }, now);
}

const originOf = (url: string): string => new URL(url).origin;
