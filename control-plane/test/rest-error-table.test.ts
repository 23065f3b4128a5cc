import { newKey } from '@svault/shared';
import { type TestPair, startPair } from '@svault/test-kit/pair';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, clientOf } from './management-service.ts';
import { type PairAgent, agentOn, grant, pathFor, storeOn } from './pair-agents.ts';

/*
 * The specification's "Errors: REST credential endpoint", row by row and in the order of contract.md ("Order of
 * answers on a credential request"), with the reference webhook behind the service. Its two other rows, RATE_LIMITED
 * and POLICY_DENIED, come with limits and policies.
 */

interface Row {
  readonly status: number;
  readonly code: string;
  /** The specification's words. */
  readonly condition: string;
  readonly fields: readonly string[];
}

const PLAIN = ['code', 'error'];
/** Specification, "Errors", in the contract's order of answers. */
const ROWS = [
  { status: 401, code: 'MISSING_KEY', condition: 'No key in a header.', fields: PLAIN },
  { status: 403, code: 'INVALID_KEY', condition: 'Key malformed or revoked.', fields: PLAIN },
  { status: 403, code: 'AGENT_INACTIVE', condition: 'Agent suspended or deleted.', fields: PLAIN },
  { status: 400, code: 'INVALID_SERVICE', condition: 'Service name contains `/`.', fields: PLAIN },
  { status: 423, code: 'VAULT_LOCKED', condition: 'The owner has locked the vault.', fields: PLAIN },
  { status: 403, code: 'GRANT_EXPIRED', condition: 'Grant existed but expired.', fields: PLAIN },
  { status: 404, code: 'NO_GRANT', condition: 'No active grant for the service.', fields: PLAIN },
  {
    status: 502,
    code: 'WEBHOOK_NOT_CONFIGURED',
    condition: 'No webhook is bound to the vault.',
    fields: PLAIN,
  },
  {
    status: 503,
    code: 'WEBHOOK_UNAVAILABLE',
    condition: 'contract.md, "Webhook offline"',
    fields: [...PLAIN, 'retryAfter'],
  },
] as const satisfies readonly Row[];
type Code = (typeof ROWS)[number]['code'];

const rowOf = (code: Code): Row => ROWS.find((row) => row.code === code) as Row;

function expectRow(answer: Answer, code: Code): void {
  const { status, fields } = rowOf(code);
  expect([answer.status, answer.json.code]).toEqual([status, code]);
  expect(Object.keys(answer.json as object).sort()).toEqual([...fields].sort());
  expect(answer.json.error).toMatch(/\w/);
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.headers.get('location')).toBeNull();
}

describe('a request that meets several conditions gets the first', () => {
  const KEYS = ['none', 'malformed', 'unknown', 'mine'] as const;
  const STATES = ['active', 'suspended', 'deleted'] as const;
  const SERVICES = ['granted', 'ungranted', 'lapsed', 'a/b'] as const;
  const REQUESTS = KEYS.flatMap((key) =>
    STATES.flatMap((state) => SERVICES.map((service) => ({ key, state, service }))),
  );
  type Asked = (typeof REQUESTS)[number];
  interface Vault {
    readonly locked: boolean;
    readonly bound: boolean;
  }

  let pair: TestPair;
  const agents = new Map<string, PairAgent>();
  let lapsed = 0;

  beforeAll(async () => {
    pair = await startPair();
    await storeOn(pair, 'granted', { tokenType: 'PlainText', value: 'v' });
    for (const state of STATES) agents.set(state, await agentOn(pair, 'granted'));
    const active = agents.get('active') as PairAgent;
    // One for each request that meets a lapsed grant, since that request deletes it.
    for (let n = 0; n < 8; n++)
      await grant(pair, active.id, { serviceName: `lapsed-${n}`, expiresInSeconds: 3_600 });
    await pair.admin.call('POST', `/api/agents/${agents.get('suspended')?.id}/suspend`);
    await pair.admin.call('DELETE', `/api/agents/${agents.get('deleted')?.id}`);
    pair.clock.advance(3_600_000);
  });
  afterAll(() => pair.close());

  /** The contract's order, as a table would be read from the top. */
  function expected({ key, state, service }: Asked, { locked, bound }: Vault): Code | 'ticket' {
    if (key === 'none') return 'MISSING_KEY';
    if (key !== 'mine') return 'INVALID_KEY';
    if (state !== 'active') return 'AGENT_INACTIVE';
    if (service === 'a/b') return 'INVALID_SERVICE';
    if (locked) return 'VAULT_LOCKED';
    if (service === 'lapsed') return 'GRANT_EXPIRED';
    if (service === 'ungranted') return 'NO_GRANT';
    return bound ? 'ticket' : 'WEBHOOK_NOT_CONFIGURED';
  }

  const ask = ({ key, state, service }: Asked, vault: Vault): Promise<Answer> => {
    const keys = {
      none: undefined,
      malformed: 'svagent_x',
      unknown: newKey('svagent'),
      mine: agents.get(state)?.apiKey,
    };
    const used = keys[key];
    const uses = expected({ key, state, service }, vault) === 'GRANT_EXPIRED';
    const name = service === 'lapsed' ? `lapsed-${uses ? lapsed++ : 7}` : service;
    const headers = used === undefined ? {} : { authorization: `Bearer ${used}` };
    return clientOf(pair.controlPlaneUrl())('GET', pathFor(name), { headers });
  };

  test.each([
    { locked: false, bound: true },
    { locked: true, bound: true },
    { locked: false, bound: false },
    { locked: true, bound: false },
  ])('in a vault that is %o', async (vault) => {
    const { bound } = await pair.admin.call<{ bound: boolean }>('GET', '/api/webhook');
    if (bound && !vault.bound) await pair.admin.call('DELETE', '/api/webhook');
    if (vault.locked) await pair.admin.call('POST', '/api/vault/lock');
    for (const request of REQUESTS) {
      const answer = await ask(request, vault);
      const code = expected(request, vault);
      if (code === 'ticket') expect([request, answer.status]).toEqual([request, 307]);
      else expectRow(answer, code);
    }
    if (vault.locked) await pair.admin.call('POST', '/api/vault/unlock');
  });
});

describe('every form of a condition', () => {
  let pair: TestPair;
  let agent: PairAgent;
  beforeAll(async () => {
    pair = await startPair();
    agent = await agentOn(pair, 'github');
    await storeOn(pair, 'github', { tokenType: 'PlainText', value: 'v' });
  });
  afterAll(() => pair.close());

  const get = (path: string, headers: Record<string, string>): Promise<Answer> =>
    clientOf(pair.controlPlaneUrl())('GET', path, { headers });

  test.each([
    ['no header', {}],
    ['another scheme', { authorization: 'Basic c3ZhZ2VudDp4' }],
    ['an empty x-agent-key', { 'x-agent-key': '' }],
    ["another door's header", { 'x-mcp-key': newKey('mcp') }],
  ])(`MISSING_KEY: %s`, async (_what, headers) => {
    expectRow(await get(pathFor('github'), headers), 'MISSING_KEY');
  });

  test('INVALID_KEY: the Authorization header counts, whatever it holds, before x-agent-key', async () => {
    const own = { 'x-agent-key': agent.apiKey };
    for (const authorization of ['Bearer', 'Bearer ', 'bearer x', `Bearer ${newKey('mcp')}`])
      expectRow(await get(pathFor('github'), { ...own, authorization }), 'INVALID_KEY');
    expect((await get(pathFor('github'), { ...own, authorization: 'Basic eDp5' })).status).toBe(307);
    expect((await get(pathFor('github'), own)).status).toBe(307);
  });

  test('INVALID_KEY: a key that was rotated away, from the next request on', async () => {
    const rotated = await agentOn(pair, 'github');
    const { apiKey } = await pair.admin.call<{ apiKey: string }>(
      'POST',
      `/api/agents/${rotated.id}/rotate-key`,
    );
    expectRow(await rotated.ask('github'), 'INVALID_KEY');
    expect((await get(pathFor('github'), { authorization: `Bearer ${apiKey}` })).status).toBe(307);
  });

  test.each([
    'a/b',
    '/',
    '',
    ' ',
    'a\u0000b',
    'a\nb',
    '..',
    'x'.repeat(129),
    'x'.repeat(10_000),
    'Gro\u0308ße',
  ])('INVALID_SERVICE: %j', async (name) => {
    expectRow(await agent.ask(name), 'INVALID_SERVICE');
  });

  test.each(['github&service=github', 'github&service=', 'github&service=a%2Fb'])(
    'INVALID_SERVICE: service=%s, since nobody could tell which is meant',
    async (query) => {
      const answer = await get(`/api/agents/credentials?service=${query}`, {
        authorization: `Bearer ${agent.apiKey}`,
      });
      expectRow(answer, 'INVALID_SERVICE');
    },
  );

  test('NO_GRANT: the same bytes for what exists, what does not, and what is granted to another agent', async () => {
    const other = await agentOn(pair, 'elsewhere');
    await storeOn(pair, 'stored', { tokenType: 'PlainText', value: 'v' });
    const answers = [await agent.ask('stored'), await agent.ask('unheard-of'), await agent.ask('elsewhere')];
    for (const answer of answers) expectRow(answer, 'NO_GRANT');
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect((await other.ask('elsewhere')).status).toBe(307);
  });

  test('WEBHOOK_UNAVAILABLE: from a failed probe until the webhook answers again', async () => {
    await pair.stop('webhook');
    expect(await pair.admin.call('GET', '/api/webhook')).toMatchObject({ bound: true, reachable: false });
    const answer = await agent.ask('github');
    expectRow(answer, 'WEBHOOK_UNAVAILABLE');
    expect(answer.headers.get('retry-after')).toBe(String(answer.json.retryAfter));
    expect(answer.json.retryAfter).toBeGreaterThan(0);
    expectRow(await agent.ask('ungranted'), 'NO_GRANT');
    await pair.start('webhook');
    expect(await pair.admin.call('GET', '/api/webhook')).toMatchObject({ reachable: true });
    expect((await agent.fetch('github')).json.token.accessToken).toBe('v');
  });
});

describe('states and transitions, as an agent sees them', () => {
  let pair: TestPair;
  beforeAll(async () => {
    pair = await startPair();
    await storeOn(pair, 'github', { tokenType: 'PlainText', value: 'v' });
  });
  afterAll(() => pair.close());

  const post = (path: string): Promise<unknown> => pair.admin.call('POST', path);

  test('Agent: (new) → active, with a key', async () => {
    const agent = await agentOn(pair, 'github');
    expect(agent.apiKey).toMatch(/^svagent_/);
    expect(await pair.admin.call('GET', `/api/agents/${agent.id}`)).toMatchObject({ status: 'active' });
    expect((await agent.fetch('github')).json.token.accessToken).toBe('v');
  });

  test('Agent: active → suspended → active', async () => {
    const agent = await agentOn(pair, 'github');
    await post(`/api/agents/${agent.id}/suspend`);
    expectRow(await agent.ask('github'), 'AGENT_INACTIVE');
    expectRow(await agent.list(), 'AGENT_INACTIVE');
    await post(`/api/agents/${agent.id}/resume`);
    expect((await agent.fetch('github')).status).toBe(200);
  });

  test.each(['active', 'suspended'])('Agent: %s → deleted, for good', async (state) => {
    const agent = await agentOn(pair, 'github');
    if (state === 'suspended') await post(`/api/agents/${agent.id}/suspend`);
    await pair.admin.call('DELETE', `/api/agents/${agent.id}`);
    expectRow(await agent.ask('github'), 'AGENT_INACTIVE');
    for (const verb of ['resume', 'suspend', 'rotate-key', 'reveal-key'])
      await expect(post(`/api/agents/${agent.id}/${verb}`)).rejects.toMatchObject({ code: 'CONFLICT' });
    await expect(grant(pair, agent.id, { serviceName: 'x' })).rejects.toMatchObject({ code: 'CONFLICT' });
    expectRow(await agent.ask('github'), 'AGENT_INACTIVE');
  });

  test('a ticket from before a suspension is good for 60 s and the 30 s of skew, and no longer', async () => {
    const agent = await agentOn(pair, 'github');
    const locations = await Promise.all(
      [0, 1].map(async () => (await agent.ask('github')).headers.get('location') ?? ''),
    );
    await post(`/api/agents/${agent.id}/suspend`);
    const use = async (location = ''): Promise<number> => (await fetch(pair.aroundTheTap(location))).status;
    pair.clock.advance(90_000);
    expect(await use(locations[0])).toBe(200);
    pair.clock.advance(1_000);
    expect(await use(locations[1])).toBe(401);
  });

  test('Grant: (none) → active, without a check that the webhook holds the credential', async () => {
    const agent = await agentOn(pair, 'never-stored');
    const answer = await agent.fetch('never-stored');
    expect([answer.status, answer.json.code]).toEqual([404, 'NOT_FOUND']);
    await storeOn(pair, 'never-stored', { tokenType: 'PlainText', value: 'now it is' });
    expect((await agent.fetch('never-stored')).json.token.accessToken).toBe('now it is');
  });

  test('Grant: active → expired (omitted from the list) → deleted by the next request', async () => {
    const agent = await agentOn(pair);
    await grant(pair, agent.id, { serviceName: 'github', expiresInSeconds: 3_600 });
    pair.clock.advance(3_599_999);
    expect((await agent.list()).json.grants).toHaveLength(1);
    expect((await agent.fetch('github')).status).toBe(200);
    pair.clock.advance(1);
    expect((await agent.list()).json).toEqual({ grants: [] });
    expectRow(await agent.ask('github'), 'GRANT_EXPIRED');
    expectRow(await agent.ask('github'), 'NO_GRANT');
  });

  test('Grant: active → removed by a revocation', async () => {
    const agent = await agentOn(pair, 'github');
    await pair.admin.call('DELETE', `/api/agents/${agent.id}/grants/github`);
    expectRow(await agent.ask('github'), 'NO_GRANT');
    expect((await agent.list()).json).toEqual({ grants: [] });
  });

  test('Vault: unlocked → locked → unlocked', async () => {
    const agent = await agentOn(pair, 'github');
    await post('/api/vault/lock');
    expectRow(await agent.ask('github'), 'VAULT_LOCKED');
    expect((await agent.list()).json.grants).toHaveLength(1);
    for (const [method, path] of [
      ['POST', `/api/agents/${agent.id}/suspend`],
      ['DELETE', `/api/agents/${agent.id}/grants/github`],
      ['POST', '/api/tokens/github/store-ticket'],
      ['DELETE', '/api/webhook'],
    ] as const)
      await expect(pair.admin.call(method, path)).rejects.toMatchObject({
        code: 'VAULT_LOCKED',
        status: 423,
      });
    await post('/api/vault/unlock');
    expect((await agent.fetch('github')).status).toBe(200);
  });
});
