import { newKey } from '@svault/shared';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type PairedService, startPairedService } from './paired-service.ts';
import { CREDENTIALS, type TestAgent } from './service-steps.ts';

// The specification's "Errors: REST credential endpoint", a test per row. The rows of limits and policies stand at
// their interfaces: src/access/access.test.ts and src/rest/denial-answer.test.ts.
describe('errors of the REST credential endpoint', () => {
  let service: PairedService;
  let agent: TestAgent;

  beforeAll(async () => {
    service = await startPairedService();
    agent = await service.agent('github');
  });
  afterAll(() => service.stop());

  const get = (query: string, headers: Record<string, string> = {}) =>
    service.anyone('GET', `${CREDENTIALS}${query}`, { headers });

  it('401 MISSING_KEY without a key in a header', async () => {
    const answer = await get('?service=github');
    expect(answer).toMatchObject({ status: 401, json: { code: 'MISSING_KEY' } });
    expect(answer.json.error).toEqual(expect.any(String));
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/);
  });

  it('401 MISSING_KEY for a key in the query, which is not looked at', async () => {
    const answer = await get(`?service=github&key=${agent.apiKey}`);
    expect(answer).toMatchObject({ status: 401, json: { code: 'MISSING_KEY' } });
  });

  it.each(['nonsense', 'svagent_short', `${newKey('svagent')}x`, newKey('mcp'), newKey('svagent'), ''])(
    '403 INVALID_KEY for the key %j',
    async (key) => {
      const answer = await get('?service=github', { authorization: `Bearer ${key}` });
      expect(answer).toMatchObject({ status: 403, json: { code: 'INVALID_KEY' } });
    },
  );

  it('403 INVALID_KEY for a key that was rotated away', async () => {
    const other = await service.agent('github');
    await service.admin('POST', `/api/agents/${other.id}/rotate-key`);
    expect(await other.get('github')).toMatchObject({ status: 403, json: { code: 'INVALID_KEY' } });
  });

  it('403 AGENT_INACTIVE from the suspension on, and not from the resumption on', async () => {
    const other = await service.agent('github');
    await service.admin('POST', `/api/agents/${other.id}/suspend`);
    expect(await other.get('github')).toMatchObject({ status: 403, json: { code: 'AGENT_INACTIVE' } });
    expect(await other.list()).toMatchObject({ status: 403, json: { code: 'AGENT_INACTIVE' } });
    await service.admin('POST', `/api/agents/${other.id}/resume`);
    expect((await other.get('github')).status).toBe(307);
  });

  it('403 AGENT_INACTIVE for a deleted agent', async () => {
    const other = await service.agent('github');
    await service.admin('DELETE', `/api/agents/${other.id}`);
    expect(await other.get('github')).toMatchObject({ status: 403, json: { code: 'AGENT_INACTIVE' } });
  });

  it('403 GRANT_EXPIRED once, when the grant is deleted, then 404 NO_GRANT', async () => {
    const other = await service.agent();
    const body = { serviceName: 'hourly', expiresInSeconds: 3600 };
    await service.admin('POST', `/api/agents/${other.id}/grants`, { body });
    expect((await other.get('hourly')).status).toBe(307);
    service.clock.advance(3600_000);
    expect((await other.list()).json).toEqual({ grants: [] });
    expect(await other.get('hourly')).toMatchObject({ status: 403, json: { code: 'GRANT_EXPIRED' } });
    expect(await other.get('hourly')).toMatchObject({ status: 404, json: { code: 'NO_GRANT' } });
    const types = (await service.log(`&agentId=${other.id}`)).map(({ eventType }) => eventType);
    expect(types.filter((type) => type === 'GRANT_EXPIRED')).toHaveLength(1);
  });

  it('answers GRANT_EXPIRED to one of many requests at the same moment', async () => {
    const other = await service.agent();
    const body = { serviceName: 'hourly', expiresInSeconds: 3600 };
    await service.admin('POST', `/api/agents/${other.id}/grants`, { body });
    service.clock.advance(3600_000);
    const answers = await Promise.all(Array.from({ length: 8 }, () => other.get('hourly')));
    const codes = answers.map(({ json }) => json.code as string);
    expect(codes.toSorted()).toEqual(['GRANT_EXPIRED', ...Array.from({ length: 7 }, () => 'NO_GRANT')]);
  });

  it.each(['a/b', '', '.', '..', ' github', 'git\u0000hub', 'x'.repeat(10_000)])(
    '400 INVALID_SERVICE for a service name outside the rule',
    async (name) => {
      expect(await agent.get(name)).toMatchObject({ status: 400, json: { code: 'INVALID_SERVICE' } });
    },
  );

  it('400 INVALID_SERVICE for a service given twice', async () => {
    const answer = await get('?service=github&service=github', { authorization: `Bearer ${agent.apiKey}` });
    expect(answer).toMatchObject({ status: 400, json: { code: 'INVALID_SERVICE' } });
  });

  it('404 NO_GRANT for a service without grant, the same bytes whether or not it exists', async () => {
    await service.admin('POST', '/api/tokens', { body: { serviceName: 'known', tokenType: 'PlainText' } });
    const known = await agent.get('known');
    expect(known).toMatchObject({ status: 404, json: { code: 'NO_GRANT' } });
    expect((await agent.get('unheard-of')).text).toBe(known.text);
  });

  it('404 NO_GRANT from the revocation on', async () => {
    const other = await service.agent('github');
    await service.admin('DELETE', `/api/agents/${other.id}/grants/github`);
    expect(await other.get('github')).toMatchObject({ status: 404, json: { code: 'NO_GRANT' } });
  });

  it('423 VAULT_LOCKED while the vault is locked, while list mode answers', async () => {
    await service.admin('POST', '/api/vault/lock');
    expect(await agent.get('github')).toMatchObject({ status: 423, json: { code: 'VAULT_LOCKED' } });
    expect((await agent.get('a/b')).status).toBe(400);
    expect((await agent.list()).status).toBe(200);
    await service.admin('POST', '/api/vault/unlock');
    expect((await agent.get('github')).status).toBe(307);
  });

  it.each(['HEAD', 'OPTIONS', 'POST', 'PUT', 'DELETE'])('405 for %s', async (method) => {
    const headers = { authorization: `Bearer ${agent.apiKey}` };
    const answer = await service.anyone(method, `${CREDENTIALS}?service=github`, { headers });
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('GET');
  });

  it('never redirects where it refuses, and lets no cache keep an answer', async () => {
    const answer = await agent.get('nothing');
    expect(answer.headers.get('location')).toBeNull();
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });
});

describe('a vault without a webhook', () => {
  it('502 WEBHOOK_NOT_CONFIGURED', async () => {
    const service = await startPairedService({ bound: false });
    const agent = await service.agent('github');
    expect(await agent.get('github')).toMatchObject({
      status: 502,
      json: { code: 'WEBHOOK_NOT_CONFIGURED' },
    });
    await service.stop();
  });
});
