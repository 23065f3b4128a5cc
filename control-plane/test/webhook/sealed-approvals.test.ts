import { type TestApprover, enrolApprover } from '@svault/test-kit/approver';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Answer, clientOf } from '../support/management-service.ts';
import { type PairAgent, agentOn, pathFor, storeOn, take } from '../support/pair-agents.ts';
import { type PairedService, startPairedService } from '../support/paired-service.ts';
import { expectRefusal } from '../support/refusals.ts';

// Credentials whose records ask for an approval, which the webhook decides (PROTOCOL.md section 5.10).

let service: PairedService;
let approver: TestApprover;
let agent: PairAgent;
const MINUTE_MS = 60_000;
const APPROVAL = { by: 'passkey', for: ['credential'] } as const;

beforeAll(async () => {
  service = await startPairedService({ logLevel: 'silent' });
  approver = await enrolApprover(service.pair);
  for (const name of ['sealed', 'other', 'quiet'])
    await storeOn(service.pair, name, { tokenType: 'PlainText', value: 'v', approval: APPROVAL });
  await storeOn(service.pair, 'open', { tokenType: 'PlainText', value: 'v' });
  // Looking at them lets the control plane see what their records ask for.
  for (const name of ['sealed', 'other']) await service.admin('GET', `/api/tokens/${name}`);
});
afterAll(() => service.stop());
beforeEach(async () => {
  service.clock.advance(20 * MINUTE_MS);
  agent = await agentOn(service.pair, 'sealed', 'other', 'quiet', 'open');
});

const agentCall = (method: string, path: string): Promise<Answer> =>
  clientOf(service.pair.controlPlaneUrl(), { authorization: `Bearer ${agent.apiKey}` })(method, path);
const ask = (serviceName: string, query = ''): Promise<Answer> =>
  agentCall('GET', pathFor(serviceName) + query);
const fetchAt = (answer: Answer): Promise<Answer> => take(service.pair, answer.headers.get('location') ?? '');

interface Told {
  readonly id: string;
  readonly status: string;
  readonly url: string;
  readonly expiresAt: string;
}
function toldIn(answer: Answer): Told {
  expectRefusal(answer, '403 APPROVAL_REQUIRED');
  expect(answer.headers.get('retry-after')).toBe('5');
  return answer.json.approval;
}

describe('an owner’s ticket for a credential that was stored with an approval', () => {
  const ticket = (serviceName: string, body: object): Promise<Answer> =>
    service.admin('POST', `/api/tokens/${serviceName}/credential-ticket`, { body });
  const taken = async (answer: Answer): Promise<Answer> => take(service.pair, answer.json.url);

  test('is given at once and is of no use, unless its approval is asked for', async () => {
    const answer = await ticket('sealed', {});
    expect(answer.status).toBe(200);
    expect((await taken(answer)).json).toMatchObject({ code: 'APPROVAL_REQUIRED' });
  });

  test('is given once somebody has approved, and gets the credential once', async () => {
    const asked = { approval: { reason: 'to look at it' } };
    const told = toldIn(await ticket('sealed', asked));
    expect(told).toMatchObject({ status: 'pending' });
    expect(told.url).toMatch(new RegExp(`^${service.pair.webhookUrl}/approvals/apr_`));
    expect(toldIn(await ticket('sealed', asked))).toEqual(told);
    await approver.decide(told.url);
    expect((await taken(await ticket('sealed', asked))).json).toMatchObject({ token: { accessToken: 'v' } });
    const denied = toldIn(await ticket('sealed', asked));
    expect(denied.id).not.toBe(told.id);
    await approver.decide(denied.url, 'deny');
    expect(toldIn(await ticket('sealed', asked))).toMatchObject({ id: denied.id, status: 'denied' });
  });

  test('is given where no approval is needed, or the webhook says itself why it is of no use', async () => {
    const body = { approval: {} };
    expect((await taken(await ticket('open', body))).json).toMatchObject({ token: { accessToken: 'v' } });
    await service.admin('POST', '/api/tokens', { body: { serviceName: 'empty', tokenType: 'PlainText' } });
    expect((await taken(await ticket('empty', body))).json).toMatchObject({ code: 'NOT_FOUND' });
    expect((await ticket('nothing', body)).json).toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('a credential that was stored with an approval', () => {
  test('is denied with the webhook’s page, and given once it was approved there, once', async () => {
    const told = toldIn(await ask('sealed'));
    expect(told.status).toBe('pending');
    expect(told.url).toMatch(new RegExp(`^${service.pair.webhookUrl}/approvals/apr_`));
    expect(toldIn(await ask('sealed'))).toEqual(told);
    await approver.decide(told.url);
    const answer = await ask('sealed');
    expect(answer.status).toBe(307);
    expect((await fetchAt(answer)).json).toMatchObject({ token: { accessToken: 'v' } });
    expect(toldIn(await ask('sealed')).id).not.toBe(told.id);
  });

  test('stays denied for ten minutes after somebody denied it', async () => {
    const told = toldIn(await ask('sealed'));
    await approver.decide(told.url, 'deny');
    expect(toldIn(await ask('sealed'))).toMatchObject({ id: told.id, status: 'denied' });
    service.clock.advance(10 * MINUTE_MS);
    expect(toldIn(await ask('sealed')).id).not.toBe(told.id);
  });

  test('is not approved by what was approved for another', async () => {
    await approver.decide(toldIn(await ask('sealed')).url);
    expect(toldIn(await ask('other')).status).toBe('pending');
  });

  test('is kept for people to see, who decide at the webhook and not here', async () => {
    const { id, url } = toldIn(await ask('sealed', '&reason=to%20deploy'));
    const read = await service.admin('GET', `/api/approvals/${id}`);
    expect(read.json).toMatchObject({ kind: 'passkey', status: 'pending', url, agentId: agent.id });
    expect(read.json.reason).toBe('to deploy');
    expect((await service.admin('POST', `/api/approvals/${id}/approve`)).json.code).toBe('CONFLICT');
    await approver.decide(url);
    await ask('sealed');
    const decided = await service.admin('GET', `/api/approvals/${id}`);
    expect(decided.json).toMatchObject({ status: 'approved' });
    const log = await service.admin('GET', `/api/audit?serviceName=sealed&agentId=${agent.id}`);
    const types = log.json.items.map(({ eventType }: { eventType: string }) => eventType);
    expect(types).toEqual(expect.arrayContaining(['APPROVAL_REQUESTED', 'APPROVAL_APPROVED']));
  });

  test('is asked for although nothing is known of its record, where the agent waits or says why', async () => {
    const silent = await ask('quiet');
    expect(silent.status).toBe(307);
    expect((await fetchAt(silent)).json).toMatchObject({ code: 'APPROVAL_REQUIRED' });
    expect(toldIn(await ask('quiet', '&reason=because')).status).toBe('pending');
    // From now on it is known.
    expect(toldIn(await ask('quiet')).status).toBe('pending');
  });

  test('needs none any more once it was stored without', async () => {
    await storeOn(service.pair, 'replaced', { tokenType: 'PlainText', value: 'v', approval: APPROVAL });
    await service.admin('GET', '/api/tokens/replaced');
    agent = await agentOn(service.pair, 'replaced');
    toldIn(await ask('replaced'));
    const { json } = await service.admin('POST', '/api/tokens/replaced/store-ticket', { body: {} });
    await fetch(service.pair.bypassingRecorder(json.url), {
      method: 'POST',
      headers: { authorization: `Bearer ${json.ticket}`, 'content-type': 'application/json' },
      body: JSON.stringify({ tokenType: 'PlainText', value: 'w' }),
    });
    expect((await fetchAt(await ask('replaced'))).status).toBe(200);
  });

  test('is asked for at the first request where its owner declares it with the ticket to store it', async () => {
    const body = { serviceName: 'declared', tokenType: 'PlainText', approval: ['credential'] };
    const { json } = await service.admin('POST', '/api/tokens', { body });
    await fetch(service.pair.bypassingRecorder(json.store.url), {
      method: 'POST',
      headers: { authorization: `Bearer ${json.store.ticket}`, 'content-type': 'application/json' },
      body: JSON.stringify({ tokenType: 'PlainText', value: 'v', approval: APPROVAL }),
    });
    agent = await agentOn(service.pair, 'declared');
    expect(toldIn(await ask('declared')).status).toBe('pending');
  });

  test('is one question to people, however many requests ask for it at once', async () => {
    const answers = await Promise.all(Array.from({ length: 30 }, () => ask('sealed')));
    const open = answers.map(({ json }) => json.approval?.id as string | undefined);
    expect(new Set(open).size).toBe(1);
    expect(open[0]).toBeDefined();
  });
});

describe('a request without need of an approval', () => {
  test('makes no call to the webhook', async () => {
    const before = service.pair.recorded().length;
    expect((await ask('open')).status).toBe(307);
    expect(service.pair.recorded().subarray(before).toString()).not.toContain('/v1/approvals');
  });
});

describe('requests that give a reason', () => {
  test('get a credential that needs no approval, however many ask at once', async () => {
    const agents = await Promise.all(Array.from({ length: 30 }, () => agentOn(service.pair, 'open')));
    const answers = await Promise.all(
      agents.map(({ apiKey }) =>
        clientOf(service.pair.controlPlaneUrl(), { authorization: `Bearer ${apiKey}` })(
          'GET',
          `${pathFor('open')}&reason=because`,
        ),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([307]));
  });
});

describe('a webhook that is away', () => {
  test('is unavailable to REST, and to MCP where the credential is known to need an approval', async () => {
    await service.admin('PATCH', `/api/agents/${agent.id}`, { body: { mcpEnabled: true } });
    await service.pair.stop('webhook');
    try {
      expectRefusal(await ask('sealed'), '503 WEBHOOK_UNAVAILABLE');
      const call = { name: 'get_credential', arguments: { service: 'sealed' } };
      const answer = await clientOf(service.pair.controlPlaneUrl(), {
        authorization: `Bearer ${agent.apiKey}`,
      })('POST', '/api/agents/mcp', {
        body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call },
        headers: { accept: 'application/json, text/event-stream' },
      });
      expect(answer.json.result).toMatchObject({
        isError: true,
        structuredContent: { code: 'WEBHOOK_UNAVAILABLE' },
      });
    } finally {
      await service.pair.start('webhook');
      const isSeen = async () => (await service.admin('GET', '/api/webhook')).json.reachable;
      await expect.poll(isSeen).toBe(true);
    }
  });
});

describe('GET /api/agents/approvals/{id}', () => {
  test('tells the agent that asked what became of it, and nobody else', async () => {
    const { id, url } = toldIn(await ask('sealed'));
    const path = `/api/agents/approvals/${id}`;
    expect((await agentCall('GET', path)).json).toMatchObject({
      id,
      status: 'pending',
      serviceName: 'sealed',
      url,
    });
    await approver.decide(url);
    expect((await agentCall('GET', path)).json.status).toBe('approved');
    const others = await agentOn(service.pair, 'sealed');
    const theirs = clientOf(service.pair.controlPlaneUrl(), { authorization: `Bearer ${others.apiKey}` });
    const denied = await theirs('GET', path);
    const unknown = await theirs('GET', '/api/agents/approvals/apr_none');
    expect([denied.status, denied.text]).toEqual([404, unknown.text]);
    expectRefusal(await clientOf(service.pair.controlPlaneUrl())('GET', path), '401 MISSING_KEY');
  });
});
