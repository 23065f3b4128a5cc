import { randomToken } from '@svault/shared';
import { storeCredential } from './admin-client.ts';
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
  /** Statuses that its requests for a credential are answered with, in their order. */
  readonly requests: Readonly<Partial<Record<Service, readonly number[]>>>;
}

const times = (count: number, status = 200): number[] => Array.from({ length: count }, () => status);

const AGENTS: readonly PlannedAgent[] = [
  {
    name: 'claude-code',
    description: 'On the laptops of the team',
    grants: { 'github-issues': WEEK_HOURS, sentry: WEEK_HOURS, cloudflare: 2 },
    requests: { 'github-issues': times(17), sentry: times(6), stripe: times(2, 404) },
  },
  {
    name: 'deploy',
    description: 'Releases from CI',
    grants: { 'npm-publish': null, cloudflare: null },
    // The policy `two releases` allows two.
    requests: { cloudflare: times(12), 'npm-publish': [...times(2), ...times(2, 403)] },
  },
  {
    name: 'nightly-report',
    description: 'Sends the numbers of the day',
    grants: { 'reporting-db': null, slack: 720 },
    requests: { 'reporting-db': times(9), slack: times(4) },
  },
  {
    name: 'support-bot',
    description: 'Drafts replies to customers',
    grants: { slack: 24, openai: 24, stripe: 3 },
    // The policy `office network` has another one, and `five an hour` ends the rest.
    requests: { slack: times(3), openai: [...times(2), ...times(3, 429)], stripe: times(3, 403) },
  },
  {
    name: 'invoice-import',
    description: 'On working days only',
    grants: { stripe: WEEK_HOURS, 'reporting-db': WEEK_HOURS },
    requests: {},
  },
  { name: 'jenkins', description: 'Replaced by deploy', grants: { cloudflare: 1 }, requests: {} },
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
 * @throws Error when a request is answered otherwise than planned
 */
export async function fillAccount(
  pair: Pick<Pair, 'admin' | 'controlPlaneUrl'>,
  outside: Pick<DemoOutside, 'url'>,
): Promise<string> {
  const { admin, controlPlaneUrl } = pair;
  for (const serviceName of CREDENTIALS)
    await storeCredential(admin, serviceName, {
      tokenType: 'PlainText',
      value: `demo-${randomToken()}`,
      allowedHosts: [outside.url],
    });
  for (const [name, serviceNames] of Object.entries(FOLDERS))
    await admin.call('POST', '/api/folders', { name, serviceNames });
  const agents = new Map<string, ReturnType<typeof demoAgent>>();
  for (const { name, description, grants } of AGENTS) {
    const agent = demoAgent(pair, { name, description });
    agents.set(name, agent);
    const id = await agent.make();
    for (const [serviceName, hours] of Object.entries(grants))
      await admin.call('POST', `/api/agents/${id}/grants`, {
        serviceName,
        ...(hours !== null && { expiresInSeconds: hours * HOUR_SECONDS }),
      });
  }
  for (const { policy, ...target } of POLICIES) {
    const { id } = await admin.call<{ id: string }>('POST', '/api/policies', policy);
    const attachment =
      'token' in target
        ? { targetType: 'token', targetId: target.token }
        : { targetType: 'agent', targetId: agents.get(target.agent)?.id() };
    await admin.call('POST', `/api/policies/${id}/attachments`, attachment);
  }
  for (const { name, requests } of AGENTS)
    for (const [serviceName, statuses] of Object.entries(requests))
      for (const status of statuses) {
        const answer = await agents.get(name)?.ask(serviceName);
        await answer?.body?.cancel();
        expectEqual(`the status of ${name}'s request for ${serviceName}`, answer?.status, status);
      }
  await admin.call('POST', `/api/agents/${agents.get('jenkins')?.id()}/suspend`);
  expectEqual(
    "the status of jenkins' request",
    (await agents.get('jenkins')?.ask('cloudflare'))?.status,
    403,
  );
  for (const [name, serviceName, calls] of [
    ['issues', 'github-issues', 8],
    ['errors', 'sentry', 3],
  ] as const) {
    const settings = { name, serviceName, upstreamUrl: `${outside.url}/mcp` };
    const { key } = await admin.call<{ key: string }>('POST', '/api/proxies', settings);
    for (let call = 0; call < calls; call++) await listTools(controlPlaneUrl, key);
  }
  for (const [email, role] of [
    ['ann@example.org', 'admin'],
    ['bo@example.org', 'member'],
  ])
    await admin.call('POST', '/api/members', { email, role });
  return `${AGENTS.length} agents, ${CREDENTIALS.length} credentials, ${POLICIES.length} policies, 2 proxies, 2 members, and their requests`;
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
