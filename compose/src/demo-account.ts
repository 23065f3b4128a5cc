import { randomToken } from '@svault/shared';
import { type AdminClient, storeCredential } from './admin-client.ts';
import { demoAgent } from './demo-agent.ts';
import { expectEqual } from './demo-narrator.ts';
import type { DemoOutside } from './demo-outside.ts';
import type { Pair } from './pair.ts';

const HOUR_SECONDS = 3600;
const WEEK_HOURS = 7 * 24;

const CREDENTIALS = [
  'cloudflare',
  'github-issues',
  'npm-publish',
  'openai',
  'reporting-db',
  'sentry',
  'slack',
  'stripe',
] as const;
type Service = (typeof CREDENTIALS)[number];

const FOLDERS = {
  Production: ['cloudflare', 'npm-publish', 'stripe'],
  Support: ['sentry', 'slack'],
} as const satisfies Readonly<Record<string, readonly Service[]>>;

interface PlannedAgent {
  readonly name: string;
  readonly description: string;
  /** For how many hours; null until it is revoked. */
  readonly grants: Readonly<Partial<Record<Service, number | null>>>;
}

const AGENTS: readonly PlannedAgent[] = [
  {
    name: 'claude-code',
    description: 'On the laptops of the team',
    grants: { 'github-issues': WEEK_HOURS, sentry: WEEK_HOURS, cloudflare: 30 },
  },
  {
    name: 'deploy',
    description: 'Releases from CI',
    grants: { 'npm-publish': null, cloudflare: null },
  },
  {
    name: 'nightly-report',
    description: 'Sends the numbers of the day',
    grants: { 'reporting-db': null, slack: 720 },
  },
  {
    name: 'support-bot',
    description: 'Drafts replies to customers',
    grants: { slack: 48, openai: 48, stripe: 36 },
  },
  {
    name: 'invoice-import',
    description: 'On working days only',
    grants: { stripe: WEEK_HOURS, 'reporting-db': WEEK_HOURS },
  },
  { name: 'jenkins', description: 'Replaced by deploy', grants: { cloudflare: 48 } },
];

const times = (count: number, status = 200): number[] => Array.from({ length: count }, () => status);

/** What an agent asks for at one time, and the statuses that it is answered with, in their order. */
type Visit = readonly [agent: string, requests: Readonly<Partial<Record<Service, readonly number[]>>>];

/** The same statuses whether they are made at once or over a day. */
const VISITS: readonly Visit[] = [
  ['nightly-report', { 'reporting-db': times(6), slack: times(2) }],
  ['nightly-report', { 'reporting-db': times(2) }],
  ['jenkins', { cloudflare: times(1) }],
  ['deploy', { cloudflare: times(2) }],
  ['claude-code', { 'github-issues': times(3) }],
  ['claude-code', { 'github-issues': times(5), sentry: times(1) }],
  ['deploy', { cloudflare: times(4), 'npm-publish': times(2) }],
  // No grant.
  ['claude-code', { 'github-issues': times(8), sentry: times(2), stripe: times(2, 404) }],
  ['claude-code', { 'github-issues': times(6) }],
  // The policy `office network` names another one, and `five an hour` ends the rest.
  ['support-bot', { stripe: times(3, 403), slack: times(3), openai: [...times(2), ...times(3, 429)] }],
  ['jenkins', { cloudflare: times(3) }],
  ['deploy', { cloudflare: times(8) }],
  ['claude-code', { 'github-issues': times(11), sentry: times(3) }],
  ['claude-code', { 'github-issues': times(7), sentry: times(2) }],
  // The policy `two releases` allows no third one.
  ['deploy', { cloudflare: times(5), 'npm-publish': times(2, 403) }],
  ['deploy', { cloudflare: times(3) }],
  ['nightly-report', { 'reporting-db': times(4), slack: times(1) }],
  ['nightly-report', { 'reporting-db': times(3) }],
  ['claude-code', { 'github-issues': times(4) }],
  ['deploy', { cloudflare: times(6) }],
];

/** Each with what it is attached to. */
const POLICIES = [
  {
    policy: { name: 'office network', rules: [{ type: 'ip_allowlist', cidrs: ['203.0.113.0/24'] }] },
    token: 'stripe',
  },
  { policy: { name: 'two releases', rules: [{ type: 'max_usage', limit: 2 }] }, token: 'npm-publish' },
  {
    policy: {
      name: 'five an hour',
      rules: [{ type: 'rate_limit', limit: 5, windowSeconds: HOUR_SECONDS }],
    },
    agent: 'support-bot',
  },
  {
    policy: {
      name: 'working hours',
      rules: [
        {
          type: 'time_window',
          timezone: 'Europe/London',
          windows: [{ days: [1, 2, 3, 4, 5], start: '08:00', end: '18:00' }],
        },
      ],
    },
    agent: 'invoice-import',
  },
] as const;

/**
 * Fills an account as that of a small team: agents, credentials in folders, grants, policies, proxies and members, and what
 * the agents asked for, granted and denied. All of it is made by requests, as anybody would make them.
 * @param between called before each time at which agents ask for something
 * @throws Error when a request is answered otherwise than planned
 */
export async function fillAccount(
  pair: Pick<Pair, 'admin' | 'controlPlaneUrl'>,
  outside: Pick<DemoOutside, 'url'>,
  between: () => unknown = () => undefined,
): Promise<string> {
  const { admin, controlPlaneUrl } = pair;
  await storeAll(admin, outside);
  const agents = await makeAgents(pair);
  await attachPolicies(admin, agents);
  const proxyKeys = await makeProxies(admin, outside);
  for (const [email, role] of [
    ['ann@example.org', 'admin'],
    ['bo@example.org', 'member'],
  ])
    await admin.call('POST', '/api/members', { email, role });

  for (const [name, requests] of VISITS) {
    await between();
    for (const [serviceName, statuses] of Object.entries(requests))
      for (const status of statuses) await askAs(agents, name, { serviceName, status });
    for (const key of proxyKeys) await listTools(controlPlaneUrl, key);
  }
  await admin.call('POST', `/api/agents/${agentOf(agents, 'jenkins').id()}/suspend`);
  await askAs(agents, 'jenkins', { serviceName: 'cloudflare', status: 403 });
  return `${AGENTS.length} agents, ${CREDENTIALS.length} credentials, ${POLICIES.length} policies, ${proxyKeys.length} proxies, 2 members, and what was asked for`;
}

type Agents = ReadonlyMap<string, ReturnType<typeof demoAgent>>;

function agentOf(agents: Agents, name: string): ReturnType<typeof demoAgent> {
  const agent = agents.get(name);
  if (agent === undefined) throw new Error(`there is no agent ${name}`);
  return agent;
}

async function storeAll(admin: AdminClient, outside: Pick<DemoOutside, 'url'>): Promise<void> {
  for (const serviceName of CREDENTIALS)
    await storeCredential(admin, serviceName, {
      tokenType: 'PlainText',
      value: `demo-${randomToken()}`,
      allowedHosts: [outside.url],
    });
  for (const [name, serviceNames] of Object.entries(FOLDERS))
    await admin.call('POST', '/api/folders', { name, serviceNames });
}

async function makeAgents(pair: Pick<Pair, 'admin' | 'controlPlaneUrl'>): Promise<Agents> {
  const agents = new Map<string, ReturnType<typeof demoAgent>>();
  for (const { name, description, grants } of AGENTS) {
    const agent = demoAgent(pair, { name, description });
    agents.set(name, agent);
    const id = await agent.make();
    for (const [serviceName, hours] of Object.entries(grants))
      await pair.admin.call('POST', `/api/agents/${id}/grants`, {
        serviceName,
        ...(hours !== null && { expiresInSeconds: hours * HOUR_SECONDS }),
      });
  }
  return agents;
}

async function attachPolicies(admin: AdminClient, agents: Agents): Promise<void> {
  for (const { policy, ...target } of POLICIES) {
    const { id } = await admin.call<{ id: string }>('POST', '/api/policies', policy);
    const attachment =
      'token' in target
        ? { targetType: 'token', targetId: target.token }
        : { targetType: 'agent', targetId: agentOf(agents, target.agent).id() };
    await admin.call('POST', `/api/policies/${id}/attachments`, attachment);
  }
}

/** @returns their keys */
async function makeProxies(
  admin: AdminClient,
  outside: Pick<DemoOutside, 'url'>,
): Promise<readonly string[]> {
  const keys: string[] = [];
  for (const [name, serviceName] of [
    ['issues', 'github-issues'],
    ['errors', 'sentry'],
  ]) {
    const settings = { name, serviceName, upstreamUrl: `${outside.url}/mcp` };
    keys.push((await admin.call<{ key: string }>('POST', '/api/proxies', settings)).key);
  }
  return keys;
}

async function askAs(
  agents: Agents,
  name: string,
  { serviceName, status }: { readonly serviceName: string; readonly status: number },
): Promise<void> {
  const answer = await agentOf(agents, name).ask(serviceName);
  await answer.body?.cancel();
  expectEqual(`the status of ${name}'s request for ${serviceName}`, answer.status, status);
}

/** What an MCP client sends first of all, through a proxy. */
async function listTools(controlPlaneUrl: string, key: string): Promise<void> {
  const answer = await fetch(`${controlPlaneUrl}/api/proxy/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
  });
  await answer.body?.cancel();
  expectEqual('the status of a call through the proxy', answer.status, 200);
}
