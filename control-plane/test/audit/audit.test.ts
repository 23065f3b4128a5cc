import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientOf } from '../support/management-service.ts';
import { type PairedService, startPairedService } from '../support/paired-service.ts';

describe('the audit log', () => {
  let service: PairedService;

  beforeAll(async () => {
    service = await startPairedService();
  });
  afterAll(() => service.stop());

  it('has one event per answered request, with its outcome', async () => {
    const agent = await service.agent('github');
    await agent.get('github');
    await agent.get('unknown');
    await agent.get('a/b');
    const events = await service.log(`&agentId=${agent.id}&eventType=AGENT_CREDENTIAL_ACCESS`);
    expect(
      events.map(({ outcome, serviceName, detail }) => [outcome, serviceName, detail?.['code']]),
    ).toEqual([
      ['denied', undefined, 'INVALID_SERVICE'],
      ['denied', 'unknown', 'NO_GRANT'],
      ['success', 'github', undefined],
    ]);
  });

  it('numbers the events of concurrent requests without a gap', async () => {
    const agents = await Promise.all(Array.from({ length: 10 }, () => service.agent('github')));
    const asked = agents.flatMap((agent) => Array.from({ length: 10 }, (_, n) => [agent, n] as const));
    await Promise.all(asked.map(([agent, n]) => agent.get(n % 2 ? 'github' : 'unknown')));
    const ids = new Set(agents.map(({ id }) => id));
    const events = await service.log('&eventType=AGENT_CREDENTIAL_ACCESS');
    expect(events.filter(({ agentId }) => ids.has(agentId ?? ''))).toHaveLength(100);
    const verdict = await service.admin('GET', '/api/audit/verify');
    expect(verdict.json).toMatchObject({ intact: true });
    expect(verdict.json.head.seq).toBe(verdict.json.events);
  });

  it('has a permanent address for each event, where it is as in the list', async () => {
    const agent = await service.agent();
    await agent.get('never granted');
    const { json } = await service.admin('GET', `/api/audit?agentId=${agent.id}&limit=1&delivery=true`);
    const [listed] = json.items;
    expect(listed).toMatchObject({
      outcome: 'denied',
      detail: { code: 'NO_GRANT' },
      agentName: expect.any(String),
    });
    const read = await service.admin('GET', `/api/audit/${listed.seq}`);
    expect(read).toMatchObject({ status: 200, json: listed });
  });

  it('says of one event what became of its ticket when it is asked to', async () => {
    const agent = await service.agent('github');
    await agent.get('github');
    const [{ seq }] = (await service.admin('GET', `/api/audit?agentId=${agent.id}&limit=1`)).json.items;
    const delivered = await service.admin('GET', `/api/audit/${seq}?delivery=true`);
    expect(delivered.json.delivery).toEqual({ status: 'pending' });
    expect((await service.admin('GET', `/api/audit/${seq}`)).json).not.toHaveProperty('delivery');
  });

  it('answers 404 for a number without an event, and 422 for what is no number', async () => {
    const statusOf = async (seq: string): Promise<number> =>
      (await service.admin('GET', `/api/audit/${seq}`)).status;
    expect(await statusOf('999999999999999')).toBe(404);
    for (const seq of ['0', '-1', '1.5', '01', '1e3', '9999999999999999', 'evt_1', '%00'])
      expect([seq, await statusOf(seq)]).toEqual([seq, 422]);
  });

  it('can be filtered by agent, service, type and time, and is paged', async () => {
    const { admin } = service;
    const agent = await service.agent();
    await admin('POST', `/api/agents/${agent.id}/grants`, {
      body: { allowMissing: true, serviceName: 'one' },
    });
    service.clock.advance(10_000);
    const from = new Date(service.clock.now()).toISOString();
    await admin('POST', `/api/agents/${agent.id}/grants`, {
      body: { allowMissing: true, serviceName: 'two' },
    });
    const list = async (query: string) => {
      const { json } = await admin('GET', `/api/audit?agentId=${agent.id}&${query}`);
      return (json.items as { eventType: string; serviceName?: string }[]).map(
        ({ eventType, serviceName }) => `${eventType} ${serviceName ?? ''}`,
      );
    };
    expect(await list('eventType=GRANT_CREATED')).toEqual(['GRANT_CREATED two', 'GRANT_CREATED one']);
    expect(await list('serviceName=one')).toEqual(['GRANT_CREATED one']);
    expect(await list(`from=${from}`)).toEqual(['GRANT_CREATED two']);
    expect(await list(`to=${from}&eventType=GRANT_CREATED`)).toEqual(['GRANT_CREATED one']);

    const first = await admin('GET', `/api/audit?agentId=${agent.id}&limit=2`);
    const rest = await admin('GET', `/api/audit?agentId=${agent.id}&limit=2&cursor=${first.json.nextCursor}`);
    expect([...first.json.items, ...rest.json.items].map(({ eventType }) => eventType as string)).toEqual([
      'GRANT_CREATED',
      'GRANT_CREATED',
      'AGENT_CREATED',
    ]);
    expect(rest.json.nextCursor).toBeUndefined();
  });

  it.each(['eventType=NOTHING', 'limit=0', 'cursor=nonsense', 'from=yesterday', 'agent=agt_1'])(
    'refuses the filter %s',
    async (query) => {
      expect((await service.admin('GET', `/api/audit?${query}`)).status).toBe(422);
    },
  );

  it('denies with 503 and changes nothing while an event cannot be written, and recovers', async () => {
    const agent = await service.agent('github');
    const heal = await service.state.refuseEvents();
    const answers = await Promise.all([agent.get('github'), agent.get('unknown')]);
    for (const path of ['/api/vault/lock', `/api/agents/${agent.id}/suspend`])
      expect((await service.admin('POST', path)).status).toBe(500);
    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 503, json: { code: 'AUDIT_UNAVAILABLE' } });
      expect(answer.headers.get('location')).toBeNull();
      expect(answer.headers.get('retry-after')).toBe('5');
    }
    await heal();
    expect((await agent.get('github')).status).toBe(307);
  });

  it('has an attempt with the key of a deleted agent', async () => {
    const agent = await service.agent('github');
    await service.admin('DELETE', `/api/agents/${agent.id}`);
    expect((await agent.get('github')).status).toBe(403);
    const denials = await service.log(`&agentId=${agent.id}&eventType=AGENT_CREDENTIAL_ACCESS`);
    expect(denials).toMatchObject([{ outcome: 'denied', detail: { code: 'AGENT_INACTIVE' } }]);
  });

  it('coalesces the denials of a suspended agent into one event a minute, after the first, over a stop', async () => {
    const agent = await service.agent('github');
    await service.admin('POST', `/api/agents/${agent.id}/suspend`);
    const denials = `agentId=${agent.id}&eventType=AGENT_CREDENTIAL_ACCESS`;
    for (let tries = 0; tries < 5; tries++) await agent.get('github');
    expect(await service.log(`&${denials}`)).toHaveLength(1);
    const { pair } = service;
    await pair.stop('control-plane');
    await pair.start('control-plane');
    const again = clientOf(pair.controlPlaneUrl(), { authorization: `Bearer ${pair.adminKey}` });
    expect((await again('GET', `/api/audit?${denials}`)).json.items).toMatchObject([
      { count: 4, detail: { code: 'AGENT_INACTIVE' } },
      { outcome: 'denied' },
    ]);
  });
});

it('route and subcommand both report a changed event, then a missing one', async () => {
  const service = await startPairedService();
  const agent = await service.agent();
  await agent.get('unknown');
  const [event] = await service.log(`&agentId=${agent.id}`);
  await service.state.run(`UPDATE audit_events SET outcome = 'success' WHERE seq = ${event?.seq}`);
  const verify = async () => (await service.admin('GET', '/api/audit/verify')).json;
  expect(await verify()).toEqual({ intact: false, seq: event?.seq, problem: 'changed' });
  await service.state.run('DELETE FROM audit_events WHERE seq = 2');
  expect(await verify()).toEqual({ intact: false, seq: 2, problem: 'missing' });
  const main = new URL('../../src/main.ts', import.meta.url).pathname;
  const env = {
    SV_BASE_URL: 'http://127.0.0.1:1',
    SV_DATABASE_URL: service.pair.databaseUrl,
    SV_MASTER_KEY: service.pair.masterKeys['control-plane'],
  };
  const run = promisify(execFile)(process.execPath, [main, 'audit', 'verify'], { env });
  const stdout = expect.stringMatching(/^vlt_\S+ BROKEN at event 2: missing$/m);
  await expect(run).rejects.toMatchObject({ code: 1, stdout });
  await service.stop();
});
