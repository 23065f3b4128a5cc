import { request } from 'node:http';
import { type CredentialTicket, isId } from '@svault/shared';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type PairedService, startPairedService } from './paired-service.ts';
import { CREDENTIALS, type TestAgent } from './service-steps.ts';

describe('the redirect to the webhook', () => {
  let service: PairedService;
  let agent: TestAgent;

  beforeAll(async () => {
    service = await startPairedService();
    agent = await service.agent('github', 'Größe & Co');
  });
  afterAll(() => service.stop());

  const ticketOf = (location: string | null): string =>
    new URL(location ?? '').searchParams.get('ticket') ?? '';

  /** What a ticket claims; that it is signed rightly is for the webhook to say. */
  const read = (ticket: string): CredentialTicket =>
    JSON.parse(Buffer.from(ticket.split('.')[1] ?? '', 'base64url').toString()) as CredentialTicket;

  it('is a 307 with an empty body that no cache keeps and no referrer tells of', async () => {
    const answer = await agent.get('github');
    expect(answer.status).toBe(307);
    expect(answer.text).toBe('');
    expect(answer.headers.get('content-length')).toBe('0');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
    expect(answer.headers.get('location')).toMatch(
      new RegExp(`^${service.pair.webhookUrl}/v1/credential\\?ticket=[A-Za-z0-9_.-]+$`),
    );
  });

  it('carries a ticket for this agent, grant and service that lives a minute', async () => {
    const { headers } = await agent.get('Größe & Co');
    const claims = read(ticketOf(headers.get('location')));
    const seconds = Math.floor(service.clock.now() / 1000);
    expect(claims).toMatchObject({
      sub: agent.id,
      svc: 'Größe & Co',
      rfp: 'none',
      iat: seconds,
      exp: seconds + 60,
    });
    expect(isId('grt', claims.gnt)).toBe(true);
    expect(claims.cnf).toBeUndefined();
  });

  it('carries a ticket that the webhook takes as signed and finds no record for', async () => {
    const { headers } = await agent.get('github');
    const answer = await fetch(service.pair.aroundTheTap(headers.get('location') ?? ''));
    expect([answer.status, await answer.json()]).toEqual([
      404,
      expect.objectContaining({ code: 'NOT_FOUND' }),
    ]);
  });

  it('gives every request a ticket of its own', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => agent.get('github')));
    const ids = answers.map(({ headers }) => read(ticketOf(headers.get('location'))).jti);
    expect(new Set(ids).size).toBe(20);
  });

  it("names the agent's sealing key, and the refresh policy of the grant", async () => {
    const sealingKeyThumbprint = 'A'.repeat(43);
    const made = await service.admin('POST', '/api/agents', {
      body: { name: 'sealed', sealingKeyThumbprint },
    });
    const body = { serviceName: 'mail', refreshPolicy: 'auto' };
    await service.admin('POST', `/api/agents/${made.json.agent.id}/grants`, { body });
    const { headers } = await service.anyone('GET', `${CREDENTIALS}?service=mail`, {
      headers: { 'x-agent-key': made.json.apiKey as string },
    });
    const claims = read(ticketOf(headers.get('location')));
    expect(claims).toMatchObject({ cnf: { jkt: sealingKeyThumbprint }, rfp: 'auto' });
  });

  describe('order of the two headers', () => {
    const ask = (headers: Record<string, string>) =>
      service.anyone('GET', `${CREDENTIALS}?service=github`, { headers });

    it.each(['Bearer', 'bearer', 'BEARER'])('takes the scheme %s', async (scheme) => {
      expect((await ask({ authorization: `${scheme} ${agent.apiKey}` })).status).toBe(307);
    });

    it('reads x-agent-key without Authorization, and beside one of another scheme', async () => {
      expect((await ask({ 'x-agent-key': agent.apiKey })).status).toBe(307);
      expect((await ask({ authorization: 'Basic dTpw', 'x-agent-key': agent.apiKey })).status).toBe(307);
    });

    it('prefers Authorization, whatever it holds', async () => {
      const answer = await ask({ authorization: 'Bearer nonsense', 'x-agent-key': agent.apiKey });
      expect(answer).toMatchObject({ status: 403, json: { code: 'INVALID_KEY' } });
      const empty = await ask({ authorization: 'Bearer', 'x-agent-key': agent.apiKey });
      expect(empty).toMatchObject({ status: 403, json: { code: 'INVALID_KEY' } });
    });

    it.each([
      ['Authorization', `Bearer KEY`],
      ['X-Agent-Key', 'KEY'],
    ])('refuses %s twice', async (name, form) => {
      const value = form.replace('KEY', agent.apiKey);
      const { status, code } = await rawGet(`${CREDENTIALS}?service=github`, [name, value, name, value]);
      expect({ status, code }).toEqual({ status: 403, code: 'INVALID_KEY' });
    });
  });

  it('lists live grants without redirect', async () => {
    const answer = await agent.list();
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({
      grants: ['Größe & Co', 'github'].map((serviceName) => ({
        serviceName,
        grantExpiresAt: null,
        refreshPolicy: 'none',
        sourceGroupId: null,
      })),
    });
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  it('writes down when the agent was last used, to the minute', async () => {
    const used = async (): Promise<unknown> =>
      (await service.admin('GET', `/api/agents/${agent.id}`)).json.lastUsedAt;
    service.clock.advance(60_000);
    await agent.get('github');
    const first = await used();
    expect(first).toBe(new Date(service.clock.now()).toISOString());
    service.clock.advance(30_000);
    await agent.get('github');
    expect(await used()).toBe(first);
  });

  /** fetch joins what is sent twice; only a raw request has two headers of one name. */
  function rawGet(path: string, rawHeaders: string[]): Promise<{ status: number; code: string }> {
    return new Promise((resolve, reject) => {
      const { hostname, port, host } = new URL(service.pair.controlPlaneUrl());
      const call = request({ hostname, port, path, headers: ['Host', host, ...rawHeaders] }, (res) => {
        let text = '';
        res.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        res.on('end', () => {
          const { code } = JSON.parse(text) as { code: string };
          resolve({ status: res.statusCode ?? 0, code });
        });
      });
      call.on('error', reject).end();
    });
  }
});
