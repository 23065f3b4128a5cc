import { newKey } from '@svault/shared';
import { jobsByHand } from '@svault/test-kit/jobs-by-hand';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Answer } from '../support/management-service.ts';
import { pathFor } from '../support/pair-agents.ts';
import { type PairedService, startPairedService } from '../support/paired-service.ts';
import { type RestRefusal, expectRefusal } from '../support/refusals.ts';
import type { TestAgent } from '../support/service-steps.ts';

// A request that meets several conditions at once gets the first.

const KEYS = ['none', 'malformed', 'unknown', 'mine'] as const;
const STATES = ['active', 'suspended', 'deleted'] as const;
const LIMITS = ['clear', 'locked out', 'out of misses'] as const;
const POLICIES = ['none', 'blocks', 'rate used up', 'uses used up'] as const;
const SERVICES = ['granted', 'ungranted', 'lapsed', 'a/b'] as const;
const VAULTS = [
  { locked: false, bound: true },
  { locked: true, bound: true },
  { locked: false, bound: false },
  { locked: true, bound: false },
] as const;

interface Agent {
  readonly state: (typeof STATES)[number];
  readonly limit: (typeof LIMITS)[number];
  readonly policy: (typeof POLICIES)[number];
}
type Service = (typeof SERVICES)[number];
type Vault = (typeof VAULTS)[number];

const KINDS: readonly Agent[] = STATES.flatMap((state) =>
  LIMITS.flatMap((limit) => POLICIES.map((policy) => ({ state, limit, policy }))),
);
const RULES = {
  none: undefined,
  blocks: { type: 'manual_approval' },
  'rate used up': { type: 'rate_limit', limit: 1, windowSeconds: 86_400 },
  'uses used up': { type: 'max_usage', limit: 1 },
} as const satisfies Record<Agent['policy'], object | undefined>;

/** The contract's order, as a table would be read from the top. */
function expected({ state, limit, policy }: Agent, service: Service, vault: Vault): RestRefusal | undefined {
  if (state !== 'active') return '403 AGENT_INACTIVE';
  if (limit === 'locked out') return '429 RATE_LIMITED';
  if (service === 'a/b') return '400 INVALID_SERVICE';
  if (vault.locked) return '423 VAULT_LOCKED';
  if (service !== 'granted' && limit === 'out of misses') return '429 RATE_LIMITED';
  if (service === 'lapsed') return '403 GRANT_EXPIRED';
  if (service === 'ungranted') return '404 NO_GRANT';
  if (policy === 'rate used up') return '429 POLICY_DENIED';
  if (policy !== 'none') return '403 POLICY_DENIED';
  return vault.bound ? undefined : '502 WEBHOOK_NOT_CONFIGURED';
}

const startStage = (env: Readonly<Record<string, string>> = {}): Promise<PairedService> =>
  startPairedService({ env, startJob: jobsByHand().startJob });

async function policyOn({ admin }: PairedService, agent: TestAgent, rule: object): Promise<void> {
  const { id } = (await admin('POST', '/api/policies', { body: { name: 'p', rules: [rule] } })).json;
  const body = { targetType: 'agent', targetId: agent.id };
  await admin('POST', `/api/policies/${id}/attachments`, { body });
}

/** Asks several times, one after another. @returns the responses in their order */
async function times(count: number, ask: () => Promise<Answer>): Promise<Answer[]> {
  const answers: Answer[] = [];
  while (answers.length < count) answers.push(await ask());
  return answers;
}

describe('a request that meets several conditions gets the first', () => {
  let stage: PairedService;
  const agents = new Map<Agent, TestAgent>();
  const lapsed = new Map<Agent, number>();

  beforeAll(async () => {
    // The ceiling is no part of these combinations.
    stage = await startStage({ SV_LIMIT_USER_AGGREGATE: '1000000' });
    for (const kind of KINDS) {
      const agent = await stage.agent('granted');
      agents.set(kind, agent);
      // One for each request that meets a lapsed grant, since that request deletes it.
      for (let n = 0; n < 2; n++)
        await stage.admin('POST', `/api/agents/${agent.id}/grants`, {
          body: { serviceName: `lapsed-${n}`, expiresInSeconds: 3_600 },
        });
      const rule = RULES[kind.policy];
      if (rule !== undefined) await policyOn(stage, agent, rule);
    }
    stage.clock.advance(3_600_000);
    for (const [kind, agent] of agents) {
      if (kind.policy !== 'none') await agent.get('granted');
      if (kind.limit === 'locked out') await times(61, () => agent.list());
      if (kind.limit === 'out of misses') await times(11, () => agent.get('nothing'));
      if (kind.state === 'suspended') await stage.admin('POST', `/api/agents/${agent.id}/suspend`);
      if (kind.state === 'deleted') await stage.admin('DELETE', `/api/agents/${agent.id}`);
    }
  });
  afterAll(() => stage.stop());

  /** A lapsed grant that no request has met yet, where this one is going to meet it. */
  function nameOf(service: Service, kind: Agent, vault: Vault): string {
    if (service !== 'lapsed') return service;
    const met = lapsed.get(kind) ?? 0;
    if (expected(kind, service, vault) === '403 GRANT_EXPIRED') lapsed.set(kind, met + 1);
    return `lapsed-${met}`;
  }

  // spec: 403 | INVALID_KEY | Key malformed or revoked.
  // spec: 403 | AGENT_INACTIVE | Agent suspended or deleted.
  // spec: 403 | POLICY_DENIED | An ABAC rule other than rate_limit blocked the request.
  // spec: 403 | GRANT_EXPIRED | Grant existed but expired (it is deleted on this request).
  // spec: 404 | NO_GRANT | No active grant for the service.
  // spec: 429 | RATE_LIMITED | Penalty box, floor limit, account aggregate, or over the no-grant miss limit.
  // spec: 423 | VAULT_LOCKED | The owner has locked the vault.
  // spec: 502 | WEBHOOK_NOT_CONFIGURED | No webhook is bound to the vault.
  // spec: No-grant miss limit: {error, code: RATE_LIMITED, retryAfter}.
  // spec: Agent credential requests answer 423 VAULT_LOCKED.
  test.each(VAULTS)('in a vault that is %o', async (vault) => {
    const { bound } = (await stage.admin('GET', '/api/webhook')).json;
    if (bound && !vault.bound) await stage.admin('DELETE', '/api/webhook');
    if (vault.locked) await stage.admin('POST', '/api/vault/lock');
    for (const [kind, agent] of agents)
      for (const service of SERVICES) {
        const answer = await agent.get(nameOf(service, kind, vault));
        const refusal = expected(kind, service, vault);
        if (refusal === undefined) expect([kind, service, answer.status]).toEqual([kind, service, 307]);
        else expectRefusal(answer, refusal);
      }
    for (const key of KEYS)
      for (const service of SERVICES) {
        if (key === 'mine') continue;
        const keys = { none: undefined, malformed: 'svagent_x', unknown: newKey('svagent') };
        const headers = keys[key] === undefined ? {} : { authorization: `Bearer ${keys[key]}` };
        const answer = await stage.anyone('GET', pathFor(service), { headers });
        expectRefusal(answer, key === 'none' ? '401 MISSING_KEY' : '403 INVALID_KEY');
      }
    if (vault.locked) await stage.admin('POST', '/api/vault/unlock');
  });
});

describe('every form of a condition', () => {
  let stage: PairedService;
  let agent: TestAgent;
  beforeAll(async () => {
    stage = await startStage();
    agent = await stage.agent('github');
  });
  afterAll(() => stage.stop());

  const get = (path: string, headers: Record<string, string>): Promise<Answer> =>
    stage.anyone('GET', path, { headers });

  // spec: 401 | MISSING_KEY | No key in a header.
  test.each([
    ['no header', {}],
    ['another scheme', { authorization: 'Basic c3ZhZ2VudDp4' }],
    ['an empty x-agent-key', { 'x-agent-key': '' }],
    ["another door's header", { 'x-mcp-key': newKey('mcp') }],
  ])(`MISSING_KEY: %s`, async (_what, headers) => {
    expectRefusal(await get(pathFor('github'), headers), '401 MISSING_KEY');
  });

  test('INVALID_KEY: the Authorization header counts, whatever it holds, before x-agent-key', async () => {
    const own = { 'x-agent-key': agent.apiKey };
    for (const authorization of ['Bearer', 'Bearer ', 'bearer x', `Bearer ${newKey('mcp')}`])
      expectRefusal(await get(pathFor('github'), { ...own, authorization }), '403 INVALID_KEY');
    expect((await get(pathFor('github'), { ...own, authorization: 'Basic eDp5' })).status).toBe(307);
    expect((await get(pathFor('github'), own)).status).toBe(307);
  });

  // spec: 400 | INVALID_SERVICE | Service name contains /.
  test.each(
    [
      'a/b',
      '/',
      '',
      ' ',
      ' github',
      'a\u0000b',
      'a\nb',
      '.',
      '..',
      'x'.repeat(129),
      'x'.repeat(10_000),
      'Gro\u0308ße',
    ].map((name) => [JSON.stringify(name).slice(0, 20), name.length, name] as const),
  )('INVALID_SERVICE: %s, %i characters', async (_start, _length, name) => {
    expectRefusal(await agent.get(name), '400 INVALID_SERVICE');
  });

  test.each(['github&service=github', 'github&service=', 'github&service=a%2Fb'])(
    'INVALID_SERVICE: service=%s, since it is ambiguous',
    async (query) => {
      const headers = { authorization: `Bearer ${agent.apiKey}` };
      expectRefusal(await get(`/api/agents/credentials?service=${query}`, headers), '400 INVALID_SERVICE');
    },
  );

  test.each(['HEAD', 'OPTIONS', 'POST', 'PUT', 'DELETE'])(
    '405 for %s, which is not counted',
    async (method) => {
      const headers = { authorization: `Bearer ${agent.apiKey}` };
      const { status, headers: answered } = await stage.anyone(method, pathFor('github'), { headers });
      expect(status).toBe(405);
      expect(answered.get('allow')).toBe('GET');
    },
  );

  test('a ticket issued before a suspension is valid for 60 s and 30 s of clock skew', async () => {
    const suspended = await stage.agent('never-stored');
    const locations = (await times(2, () => suspended.get('never-stored'))).map(
      ({ headers }) => headers.get('location') ?? '',
    );
    await stage.admin('POST', `/api/agents/${suspended.id}/suspend`);
    const use = async (location = ''): Promise<number> =>
      (await fetch(stage.pair.bypassingRecorder(location))).status;
    stage.clock.advance(90_000);
    // The webhook takes it, and holds nothing of that name.
    expect(await use(locations[0])).toBe(404);
    stage.clock.advance(1_000);
    expect(await use(locations[1])).toBe(401);
  });

  test('WEBHOOK_UNAVAILABLE comes after every other denial', async () => {
    await stage.pair.stop('webhook');
    await stage.admin('GET', '/api/webhook');
    const blocked = await stage.agent('github');
    await policyOn(stage, blocked, { type: 'manual_approval' });
    expectRefusal(await agent.get('github'), '503 WEBHOOK_UNAVAILABLE');
    expectRefusal(await agent.get('ungranted'), '404 NO_GRANT');
    expectRefusal(await agent.get('a/b'), '400 INVALID_SERVICE');
    expectRefusal(await blocked.get('github'), '403 POLICY_DENIED');
    await stage.admin('POST', '/api/vault/lock');
    expectRefusal(await agent.get('github'), '423 VAULT_LOCKED');
  });
});
