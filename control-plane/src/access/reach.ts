import type { Clock } from '@svault/shared';
import { type TokenMetadata, destinationProblem } from '@svault/shared/schemas';
import type { Actor } from '../core/actor.ts';
import { ownOf } from '../core/change.ts';
import type { Page, PageRequest } from '../core/paging.ts';
import type { EnabledPolicy } from '../core/policy.ts';
import { httpMembers, templatesOf } from '../core/proxy.ts';
import { type ReachPair, type ReachQuery, type ReachSelection, callerIdOf } from '../core/reach.ts';
import type { Stores } from '../core/stores.ts';
import { ownVault } from '../core/vault.ts';
import { inOrder } from '../policies/compile.ts';
import { checkAgent } from './authorize-agent.ts';
import type { Denial } from './decision.ts';
import { hasLiveGrant } from './evaluate-request.ts';
import { inactivity } from './subject.ts';

/** How a caller asks for a credential. */
export const REACH_CHANNELS = ['rest', 'mcp', 'proxy'] as const;

/** The codes that are known before a request, policies and limits aside. */
export const REACH_DENIALS = [
  'AGENT_INACTIVE',
  'MCP_DISABLED',
  'VAULT_LOCKED',
  'GRANT_EXPIRED',
  'WEBHOOK_NOT_CONFIGURED',
  'WEBHOOK_UNAVAILABLE',
  'DESTINATION_NOT_ALLOWED',
] as const satisfies readonly (Denial['code'] | 'DESTINATION_NOT_ALLOWED')[];
type ReachDenial = (typeof REACH_DENIALS)[number];

interface ChannelState {
  readonly channel: (typeof REACH_CHANNELS)[number];
  /** Null: a request is allowed where policies and limits allow it. */
  readonly denial: ReachDenial | null;
}

/** A pair, the policies that decide, in the order in which denials are named, and what a request would meet now. */
export type Reach = ReachPair & {
  readonly policies: readonly EnabledPolicy[];
  readonly channels: readonly ChannelState[];
  /** What the webhook says of the credential; undefined where it holds none or does not answer at once. */
  readonly record: TokenMetadata | undefined;
};

interface ReachDependencies {
  readonly stores: Pick<Stores, 'agents' | 'policies' | 'proxies' | 'reach' | 'vaults' | 'webhookLinks'>;
  readonly offlineForSeconds: (vaultId: Actor['vaultId']) => number;
  /** What the webhook says of its records. */
  readonly records: {
    lookUp(
      vaultId: Actor['vaultId'],
      serviceNames: readonly string[],
    ): Promise<ReadonlyMap<string, TokenMetadata>>;
  };
  readonly clock: Clock;
}

/**
 * Who can reach which credential: a page of the pairs.
 *
 * @throws ApiError NOT_FOUND for an unknown agent or proxy
 */
export async function readReach(
  dependencies: ReachDependencies,
  actor: Actor,
  query: ReachQuery,
  request: PageRequest,
): Promise<Page<Reach>> {
  const { stores, records } = dependencies;
  if (query.agentId !== undefined) await ownOf(stores.agents, actor, query.agentId);
  if (query.proxyId !== undefined) await ownOf(stores.proxies, actor, query.proxyId);
  const page = await stores.reach.list(actor.vaultId, query, request);
  const held = await records.lookUp(actor.vaultId, namesOf(page.items));
  return { ...page, items: await decided(dependencies, actor, page.items, held) };
}

/** Whether a caller can use a credential: by its first channel, which is REST for an agent. */
export const REACH_STATES = ['none', 'allowed', 'conditional', 'denied'] as const;
type ReachState = (typeof REACH_STATES)[number];

/**
 * Each of some callers with each of some credentials.
 *
 * @returns a row of each caller with a state of each service name, in the order in which they are given; `none` also for
 *   what the account does not have
 */
export async function readReachMatrix(
  dependencies: ReachDependencies,
  actor: Actor,
  selection: ReachSelection,
): Promise<ReachState[][]> {
  const { stores, records } = dependencies;
  const pairs = await stores.reach.among(actor.vaultId, selection);
  const proxied = pairs.filter(({ type }) => type === 'proxy');
  const held = await records.lookUp(actor.vaultId, namesOf(proxied));
  const reached = new Map(
    (await decided(dependencies, actor, pairs, held)).map((reach) => [
      `${callerIdOf(reach)} ${reach.serviceName}`,
      stateOf(reach),
    ]),
  );
  return selection.callerIds.map((callerId) =>
    selection.serviceNames.map((name) => reached.get(`${callerId} ${name}`) ?? 'none'),
  );
}

function stateOf({ channels: [first], policies }: Reach): ReachState {
  if (first?.denial !== null) return 'denied';
  return policies.length > 0 ? 'conditional' : 'allowed';
}

/** Adds to pairs what decides, and what a request would meet now. */
async function decided(
  { stores, offlineForSeconds, clock }: ReachDependencies,
  actor: Actor,
  pairs: readonly ReachPair[],
  held: ReadonlyMap<string, TokenMetadata>,
): Promise<Reach[]> {
  const { vaultId } = actor;
  const policiesOf = await policiesAt(stores.policies, vaultId, pairs);
  const link = await stores.webhookLinks.find(vaultId);
  const account: AccountState = {
    isLocked: (await ownVault(stores, actor)).lockedAt !== undefined,
    // Before its first answer it rejects tickets, so none is signed.
    isBound: link?.lastSeenAt !== undefined,
    isOffline: offlineForSeconds(vaultId) > 0,
  };
  const nowMs = clock.now();
  return pairs.map((pair) => {
    const record = held.get(pair.serviceName);
    return {
      ...pair,
      policies: policiesOf(pair),
      channels: channelsOf(pair, record, account, nowMs),
      record,
    };
  });
}

const namesOf = (pairs: readonly ReachPair[]): readonly string[] => [
  ...new Set(pairs.map(({ serviceName }) => serviceName)),
];

/** Reads the policies of all callers and credentials of a page at once. */
async function policiesAt(
  policies: Stores['policies'],
  vaultId: Actor['vaultId'],
  pairs: readonly ReachPair[],
): Promise<(pair: ReachPair) => readonly EnabledPolicy[]> {
  const found = new Map<string, EnabledPolicy[]>();
  const read = async (type: EnabledPolicy['target'], ids: readonly string[]): Promise<void> => {
    for (const policy of await policies.enabledAt(vaultId, type, [...new Set(ids)])) {
      const key = `${type} ${policy.targetId}`;
      found.set(key, [...(found.get(key) ?? []), policy]);
    }
  };
  for (const type of ['agent', 'proxy'] as const)
    await read(type, pairs.filter((pair) => pair.type === type).map(callerIdOf));
  await read(
    'token',
    pairs.map(({ serviceName }) => serviceName),
  );
  return (pair) =>
    [`${pair.type} ${callerIdOf(pair)}`, `token ${pair.serviceName}`]
      .flatMap((target) => found.get(target) ?? [])
      .toSorted(inOrder);
}

interface AccountState {
  readonly isLocked: boolean;
  readonly isBound: boolean;
  readonly isOffline: boolean;
}

/** The denials in the order of the pipelines (`authorize-agent.ts`, `authorize-proxy.ts`), and then the webhook's. */
function channelsOf(
  pair: ReachPair,
  record: TokenMetadata | undefined,
  account: AccountState,
  nowMs: number,
): readonly ChannelState[] {
  if (pair.type === 'agent')
    return (['rest', 'mcp'] as const).map((channel) => ({
      channel,
      denial: agentDenial(channel, pair, account, nowMs),
    }));
  const { proxy, agent } = pair;
  const code = inactivity({
    proxyStatus: proxy.status,
    agentId: proxy.agentId ?? null,
    agentStatus: agent?.status ?? null,
  });
  // Revoked ones are no pairs.
  const inactive = code === 'AGENT_INACTIVE' ? code : undefined;
  const denial =
    inactive ?? lockDenial(account) ?? webhookDenial(account) ?? destinationDenial(pair, record) ?? null;
  return [{ channel: 'proxy', denial }];
}

function agentDenial(
  channel: 'rest' | 'mcp',
  { agent, grant }: Extract<ReachPair, { type: 'agent' }>,
  account: AccountState,
  nowMs: number,
): ReachDenial | null {
  const { status, mcpEnabled } = agent;
  const inactive = checkAgent(channel, { status, mcpEnabled: mcpEnabled ? 1 : 0 });
  if (inactive !== undefined) return status === 'active' ? 'MCP_DISABLED' : 'AGENT_INACTIVE';
  const live = hasLiveGrant({ grantId: grant.id, grantExpiresAt: grant.grantExpiresAt ?? null }, nowMs);
  // By MCP a ticket is issued also while the webhook is offline.
  const isOffline = channel === 'rest' && account.isOffline;
  return (
    lockDenial(account) ??
    (live ? undefined : 'GRANT_EXPIRED') ??
    webhookDenial({ ...account, isOffline }) ??
    null
  );
}

const lockDenial = ({ isLocked }: AccountState) => (isLocked ? ('VAULT_LOCKED' as const) : undefined);

function webhookDenial({ isBound, isOffline }: AccountState) {
  if (!isBound) return 'WEBHOOK_NOT_CONFIGURED' as const;
  return isOffline ? ('WEBHOOK_UNAVAILABLE' as const) : undefined;
}

function destinationDenial(
  { proxy }: Extract<ReachPair, { type: 'proxy' }>,
  record: TokenMetadata | undefined,
) {
  if (record === undefined) return undefined;
  const { upstreamUrl } = proxy;
  const config = { upstreamUrl, headerTemplates: templatesOf(proxy), ...httpMembers(proxy) };
  return destinationProblem(config, record) && ('DESTINATION_NOT_ALLOWED' as const);
}
