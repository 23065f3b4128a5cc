import { request } from 'node:http';
import { type CredentialTicket, isId, newKey } from '@svault/shared';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../support/management-service.ts';
import { type PairedService, startPairedService } from '../support/paired-service.ts';
import { expectRefusal } from '../support/refusals.ts';
import { CREDENTIALS, type TestAgent } from '../support/service-steps.ts';

describe('the redirect to the webhook', () => {
  let service: PairedService;
  let agent: TestAgent;

  beforeAll(async () => {
    service = await startPairedService();
    agent = await service.agent('github', 'Größe & Co');
  });
  afterAll(() => service.stop());

  /** Tickets end with a whole second. */
  const inAMinute = (): string =>
    new Date(Math.floor(service.clock.now() / 1_000) * 1_000 + 60_000).toISOString();

  const ticketOf = (location: string | null): string =>
    new URL(location ?? '').searchParams.get('ticket') ?? '';

  /** What a ticket claims; that it is signed rightly is for the webhook to say. */
  const read = (ticket: string): CredentialTicket =>
    JSON.parse(Buffer.from(ticket.split('.')[1] ?? '', 'base64url').toString()) as CredentialTicket;

  it('is a 307 whose body says where it leads, that no cache keeps and no referrer tells of', async () => {
    const answer = await agent.get('github');
    expect(answer.status).toBe(307);
    const url = answer.headers.get('location');
    expect(answer.json).toEqual({ url, method: 'GET', expiresAt: inAMinute() });
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(answer.headers.get('vary')).toBe('Accept');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
    expect(answer.headers.get('location')).toMatch(
      new RegExp(`^${service.pair.webhookUrl}/v1/credential\\?ticket=[A-Za-z0-9_.-]+$`),
    );
  });

  // spec: Agent to webhook: a signed credential ticket (HMAC-SHA256) in the redirect
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

  it('gives every request a ticket of its own', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => agent.get('github')));
    const ids = answers.map(({ headers }) => read(ticketOf(headers.get('location'))).jti);
    expect(new Set(ids).size).toBe(20);
  });

  describe('without a redirect to follow', () => {
    const ask = (query = '', accept = '*/*') =>
      service.anyone('GET', `${CREDENTIALS}?service=github${query}`, {
        headers: { authorization: `Bearer ${agent.apiKey}`, accept },
      });

    it.each([
      ['by Accept: application/json', '', 'application/json'],
      ['by Accept: application/json, */*', '', 'application/json, */*'],
      ['by redirect=false', '&redirect=false', '*/*'],
      ['by redirect=false, whatever Accept says', '&redirect=false', 'text/html'],
    ])('%s, GET /api/agents/credentials answers 200 with the address', async (_how, query, accept) => {
      const { status, json, headers } = await ask(query, accept);
      expect(status).toBe(200);
      expect(json).toEqual({ url: expect.any(String), method: 'GET', expiresAt: inAMinute() });
      const named = ['location', 'vary', 'cache-control', 'referrer-policy'].map((name) => headers.get(name));
      expect(named).toEqual([null, 'Accept', 'no-store', 'no-referrer']);
    });

    it.each([
      ['Accept: */*', '', '*/*'],
      ['Accept: text/html, application/json', '', 'text/html, application/json'],
      ['redirect=true, whatever Accept says', '&redirect=true', 'application/json'],
    ])('with %s, GET /api/agents/credentials answers 307', async (_how, query, accept) => {
      expect((await ask(query, accept)).status).toBe(307);
    });

    it.each([
      ['&servcie=npm', 'There is no parameter `servcie`. Did you mean `service`?'],
      ['&Service=npm', 'There is no parameter `Service`. Did you mean `service`?'],
      ['&what=1', 'There is no parameter `what`.'],
      [`&${'x'.repeat(2_000)}`, `There is no parameter \`${'x'.repeat(50)}\`.`],
    ])('an unknown parameter (%s) is rejected, and named', async (query, error) => {
      expect(await ask(query)).toMatchObject({ status: 400, json: { code: 'INVALID_REQUEST', error } });
      const list = await service.anyone('GET', `${CREDENTIALS}?${query.slice(1)}`, {
        headers: { authorization: `Bearer ${agent.apiKey}` },
      });
      expect(list).toMatchObject({ status: 400, json: { code: 'INVALID_REQUEST', error } });
    });

    it.each(['redirect=', 'redirect=0', 'redirect=False', 'redirect=false&redirect=false'])(
      'GET /api/agents/credentials with %s answers 400 INVALID_REQUEST and writes the denial down',
      async (query) => {
        const { status, json } = await ask(`&${query}`);
        expect({ status, json }).toMatchObject({ status: 400, json: { code: 'INVALID_REQUEST' } });
        expect(json).toHaveProperty('error', expect.stringContaining('redirect'));
        const [event] = await service.log('&eventType=AGENT_CREDENTIAL_ACCESS');
        expect(event).toMatchObject({ outcome: 'denied', detail: { code: 'INVALID_REQUEST' } });
      },
    );

    it('answers an invalid redirect where it would answer an invalid service name', async () => {
      const invalid = `${CREDENTIALS}?service=github&redirect=maybe`;
      const keyless = await service.anyone('GET', invalid);
      const wrong = await service.anyone('GET', invalid, { headers: { 'x-agent-key': 'svagent_wrong' } });
      await service.admin('POST', '/api/vault/lock');
      const locked = await ask('&redirect=maybe');
      await service.admin('POST', '/api/vault/unlock');
      expect([keyless, wrong, locked].map(({ json }) => (json as { code: string }).code)).toEqual([
        'MISSING_KEY',
        'INVALID_KEY',
        'INVALID_REQUEST',
      ]);
    });

    it('leaves other methods at 405, and the list of grants takes a redirect that is true or false', async () => {
      const headers = { authorization: `Bearer ${agent.apiKey}`, accept: 'application/json' };
      for (const method of ['HEAD', 'OPTIONS', 'POST', 'PUT', 'DELETE']) {
        const path = `${CREDENTIALS}?service=github&redirect=false`;
        const answer = await service.anyone(method, path, { headers });
        expect([method, answer.status, answer.headers.get('allow')]).toEqual([method, 405, 'GET']);
      }
      const list = async (redirect: string) =>
        (await service.anyone('GET', `${CREDENTIALS}?redirect=${redirect}`, { headers })).json;
      expect(await list('false')).toMatchObject({ grants: expect.any(Array) });
      expect(await list('maybe')).toMatchObject({ code: 'INVALID_REQUEST' });
    });
  });

  it("names the agent's sealing key, and the refresh policy of the grant", async () => {
    const sealingKeyThumbprint = 'A'.repeat(43);
    const made = await service.admin('POST', '/api/agents', {
      body: { name: 'sealed', sealingKeyThumbprint },
    });
    const body = { serviceName: 'mail', allowMissing: true, refreshPolicy: 'auto' };
    await service.admin('POST', `/api/agents/${made.json.agent.id}/grants`, { body });
    const { headers } = await service.anyone('GET', `${CREDENTIALS}?service=mail`, {
      headers: { 'x-agent-key': made.json.apiKey as string },
    });
    const claims = read(ticketOf(headers.get('location')));
    expect(claims).toMatchObject({ cnf: { jkt: sealingKeyThumbprint }, rfp: 'auto' });
  });

  // spec: 400 | INVALID_SERVICE | Service name contains /.
  it('denies an invalid or ambiguous service name with INVALID_SERVICE', async () => {
    const names = ['a/b', '', ' github', 'a\u0000b', '..', 'x'.repeat(10_000), 'Gro\u0308ße'];
    const queries = ['github&service=github', 'github&service=', 'github&service=a%2Fb'];
    const { apiKey } = await service.agent();
    for (const query of [...names.map(encodeURIComponent), ...queries]) {
      const headers = { authorization: `Bearer ${apiKey}` };
      const answer = await service.anyone('GET', `${CREDENTIALS}?service=${query}`, { headers });
      expectRefusal(answer, '400 INVALID_SERVICE');
    }
  });

  it('carries a ticket that is valid for 60 s and 30 s of clock skew, even after a suspension', async () => {
    const suspended = await service.agent('never-stored');
    const [one, two] = [await suspended.get('never-stored'), await suspended.get('never-stored')];
    await service.admin('POST', `/api/agents/${suspended.id}/suspend`);
    const use = async ({ headers }: Answer): Promise<number> =>
      (await fetch(service.pair.bypassingRecorder(headers.get('location') ?? ''))).status;
    service.clock.advance(90_000);
    // The webhook accepts it, and has no credential of that name.
    expect(await use(one)).toBe(404);
    service.clock.advance(1_000);
    expect(await use(two)).toBe(401);
  });

  describe('order of the two headers', () => {
    const ask = (headers: Record<string, string>) =>
      service.anyone('GET', `${CREDENTIALS}?service=github`, { headers });

    // spec: 401 | MISSING_KEY | No key in a header.
    it.each([{}, { authorization: 'Basic eDp5' }, { 'x-agent-key': '' }, { 'x-mcp-key': newKey('mcp') }])(
      'has no key in %j',
      async (headers) => expectRefusal(await ask(headers), '401 MISSING_KEY'),
    );

    // spec: The API key in a query string was formerly accepted and is no longer accepted.
    it.each(['key', 'apiKey', 'x-agent-key', 'authorization', 'access_token'])(
      'has no key in the query, as %s',
      async (name) => {
        const path = `${CREDENTIALS}?service=github&${name}=${agent.apiKey}`;
        expectRefusal(await service.anyone('GET', path), '401 MISSING_KEY');
      },
    );

    it.each(['Bearer', 'bearer', 'BEARER'])('takes the scheme %s', async (scheme) => {
      expect((await ask({ authorization: `${scheme} ${agent.apiKey}` })).status).toBe(307);
    });

    it('reads x-agent-key without Authorization, and beside one of another scheme', async () => {
      expect((await ask({ 'x-agent-key': agent.apiKey })).status).toBe(307);
      expect((await ask({ authorization: 'Basic dTpw', 'x-agent-key': agent.apiKey })).status).toBe(307);
    });

    it('prefers Authorization, whatever it holds', async () => {
      for (const authorization of ['Bearer', 'Bearer ', 'bearer x', `Bearer ${newKey('mcp')}`])
        expectRefusal(await ask({ authorization, 'x-agent-key': agent.apiKey }), '403 INVALID_KEY');
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
