import { newKey } from '@svault/shared';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bearer, cliSession } from '../support/cli-client.ts';
import { type Call, clientOf } from '../support/management-service.ts';
import { mcpClientOf } from '../support/mcp-steps.ts';
import { type PairedService, startPairedService } from '../support/paired-service.ts';
import { proxyOn } from '../support/proxy-steps.ts';
import { CREDENTIALS, type LoggedEvent } from '../support/service-steps.ts';
import { useService } from '../support/use-service.ts';

/** The newest event of the log that a query finds. */
const newest = async (service: PairedService, query = ''): Promise<LoggedEvent | undefined> =>
  (await service.log(query))[0];

describe('the origin of an event', () => {
  let service: PairedService;
  beforeAll(async () => {
    service = await startPairedService({ env: { SV_TRUSTED_PROXIES: '127.0.0.1' } });
  });
  afterAll(() => service.stop());

  const asked = (key: string, headers: Readonly<Record<string, string>>) =>
    clientOf(service.pair.controlPlaneUrl(), { authorization: `Bearer ${key}` })(
      'GET',
      `${CREDENTIALS}?service=github`,
      { headers },
    );

  test('an access and a denial name address, key, client and request, but no key', async () => {
    const agent = await service.agent('github');
    const headers = {
      'x-forwarded-for': '203.0.113.7',
      'user-agent': 'ci/1.0',
      'x-request-id': 'req_theirs',
    };
    const origin = {
      channel: 'rest',
      address: '203.0.113.7',
      authenticatedBy: `${agent.apiKey.slice(0, 12)}…`,
      userAgent: 'ci/1.0',
    };
    const access = await asked(agent.apiKey, headers);
    expect(access.requestId).not.toBe('req_theirs');
    expect((await newest(service))?.origin).toEqual({ ...origin, requestId: access.requestId });

    const denied = await agent.get('unknown');
    const [event] = await service.log(`&requestId=${denied.requestId}`);
    expect(event).toMatchObject({ outcome: 'denied', agentName: expect.any(String) });
    expect(event?.origin).toMatchObject({ requestId: denied.requestId, channel: 'rest' });
    expect(JSON.stringify(await service.log())).not.toContain(agent.apiKey);
    expect((await service.admin('GET', '/api/audit/verify')).json).toMatchObject({ intact: true });
  });

  test('the webhook answers and logs the use of a ticket under the id of the request that issued it', async () => {
    const { requestId, headers } = await (await service.agent('github')).get('github');
    const fetched = await clientOf(headers.get('location') ?? '')('GET', '');
    expect([fetched.status, fetched.requestId]).toEqual([404, requestId]);
  });

  test('the name of a client cannot forge a line, carry a key or fill the log', async () => {
    const agent = await service.agent('github');
    const key = newKey('svagent');
    await asked(agent.apiKey, { 'user-agent': `a\u0085b\u00adc ${key} ${'x'.repeat(9_000)}` });
    const { userAgent = '' } = (await newest(service))?.origin ?? {};
    expect(userAgent).toMatch(/^abc svagent_\[redacted\] x+$/);
    expect(userAgent.length).toBe(160);
  });

  test('MCP and proxies are named, with the first characters of the key', async () => {
    const agent = await service.agent('github');
    await service.admin('PATCH', `/api/agents/${agent.id}`, { body: { mcpEnabled: true } });
    await mcpClientOf(service, agent.apiKey).call2025('get_credential', { service: 'github' });
    const authenticatedBy = `${agent.apiKey.slice(0, 12)}…`;
    expect((await newest(service))?.origin).toMatchObject({ channel: 'mcp', authenticatedBy });

    const running = { url: service.pair.controlPlaneUrl() };
    const proxy = await proxyOn({ running, admin: service.admin });
    await proxy.call('GET');
    const used = await newest(service, '&eventType=PROXY_CREDENTIAL_USE');
    const shown = { channel: 'proxy', authenticatedBy: `${proxy.key.slice(0, 8)}…` };
    expect(used?.origin).toMatchObject(shown);
    expect(used).toMatchObject({ proxyName: proxy.name });
  });

  test('the log is filtered by channel, address, outcome and principal', async () => {
    const agent = await service.agent('github');
    await asked(agent.apiKey, { 'x-forwarded-for': '198.51.100.9' });
    const found = async (query: string) =>
      (await service.log(query)).map(({ eventType, agentId }) => [eventType, agentId]);
    expect(await found('&address=198.51.100.9')).toEqual([['AGENT_CREDENTIAL_ACCESS', agent.id]]);
    expect(await found('&address=198.51.100.9&outcome=denied')).toEqual([]);
    expect(await found('&address=198.51.100.9&channel=mcp')).toEqual([]);
    const [{ userId } = {}] = await service.log('&eventType=AGENT_CREATED');
    expect(await found(`&userId=${userId}&channel=mcp`)).toEqual([]);
    expect((await found(`&userId=${userId}&channel=rest&eventType=AGENT_CREATED`)).length).toBeGreaterThan(0);
  });
});

describe('the origin of a change by a person', () => {
  const service = useService();
  const change = async (call: Call): Promise<LoggedEvent['origin']> => {
    const { requestId } = await call('POST', '/api/vault/lock');
    await call('POST', '/api/vault/unlock');
    const { json } = await service.admin('GET', `/api/audit?requestId=${requestId}`);
    return (json.items as readonly LoggedEvent[])[0]?.origin;
  };

  test('names the key, or the session that its LOGIN names too', async () => {
    const { items } = (await service.admin('GET', '/api/admin-keys')).json;
    expect(await change(service.admin)).toMatchObject({ channel: 'rest', authenticatedBy: items[0].id });
    const { json: lock } = await service.admin('GET', '/api/audit?eventType=VAULT_LOCKED&limit=1');
    const { email: userEmail } = (await service.admin('GET', '/api/me')).json;
    expect(lock.items[0]).toMatchObject({ adminKeyName: items[0].name, userEmail });

    const login = async (channel: string) => {
      const { json } = await service.admin('GET', `/api/audit?eventType=LOGIN&channel=${channel}`);
      return (json.items as readonly LoggedEvent[])[0]?.detail?.['sessionId'];
    };
    const { accessToken, browser } = await cliSession(service, 'admin');
    const byCli = await change(bearer(service, accessToken));
    expect(byCli).toMatchObject({ channel: 'cli', authenticatedBy: await login('cli'), userAgent: 'node' });
    const page = await browser.submit('/login/out', {});
    const { json } = await service.admin('GET', `/api/audit?requestId=${page.requestId}`);
    const [ended] = json.items as readonly LoggedEvent[];
    const authenticatedBy = await login('console');
    expect(ended).toMatchObject({ eventType: 'SESSION_REVOKED', detail: { sessionId: authenticatedBy } });
    expect(ended?.origin).toMatchObject({ channel: 'console', authenticatedBy });
  });
});
