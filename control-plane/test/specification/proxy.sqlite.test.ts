import { formatTime, newKey } from '@svault/shared';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, request } from 'node:http';
import { expect } from 'vitest';
import { byHand } from '../support/http-by-hand.ts';
import { PROXY, codeOf } from '../support/proxy-steps.ts';
import { expectHttpRefusal } from './mcp-answers.ts';
import { SECRET, shown, proxyTest as test } from './proxy-fixture.ts';
import { spec } from '@svault/test-kit/spec';

const METHODS = ['POST', 'GET', 'DELETE', 'OPTIONS'] as const;

/** Claims of a ticket, as whoever listens could read them. */
const claimsOf = (ticket = ''): Record<string, unknown> =>
  JSON.parse(Buffer.from(ticket.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;

test(
  'the key of a proxy is shown once and can be revoked',
  spec('Key prefix mcp_. The key is shown once at creation and can be revoked.'),
  async ({ fixture }) => {
    const proxy = await fixture.proxyTo();
    expect(proxy.key).toMatch(/^mcp_/);
    for (const path of ['/api/proxies', `/api/proxies/${proxy.id}`])
      expect((await fixture.admin('GET', path)).text).not.toContain(proxy.key);
    expect((await proxy.send('tools/call')).status).toBe(200);
    await fixture.admin('POST', `/api/proxies/${proxy.id}/revoke`);
    expectHttpRefusal(await proxy.send('tools/call'), 403, 'INVALID_KEY');
  },
);

test(
  'the webhook replaces ${TOKEN} in header templates with the credential',
  spec(
    'Header templates may contain the substitution marker ${TOKEN}, which the webhook replaces with the real credential.',
  ),
  async ({ fixture }) => {
    const [bearer, once_, twice] = [
      undefined,
      { 'x-api-key': '${TOKEN}', 'x-fixed': 'as it is' },
      { authorization: 'Basic $<TOKEN>:${TOKEN}' },
    ].map((headerTemplates) => fixture.proxyTo({ headerTemplates }));
    for (const proxy of [bearer, once_, twice])
      expect((await (await proxy!).send('initialize')).status).toBe(200);
    expect(shown(fixture)).toEqual([`Bearer ${SECRET}`, undefined, `Basic ${SECRET}:${SECRET}`]);
    expect(fixture.upstream.seen[1]?.headers).toMatchObject({ 'x-api-key': SECRET, 'x-fixed': 'as it is' });
    // It is the webhook that replaces it: between the two only the marker is seen.
    expect(fixture.passed()).toContain('${TOKEN}');
    expect(tracesOf(SECRET, fixture.pair.recorded())).toEqual([]);
  },
);

test('the proxy endpoint takes proxy keys alone', spec('Auth: proxy key mcp_....'), async ({ fixture }) => {
  const { apiKey } = await fixture.agent('github');
  for (const method of METHODS) {
    expectHttpRefusal(await fixture.anyone(method, PROXY), 401, 'MISSING_KEY');
    for (const key of [apiKey, fixture.pair.adminKey, newKey('svsess'), newKey('mcp'), ''])
      expectHttpRefusal(
        await fixture.anyone(method, PROXY, { headers: { authorization: `Bearer ${key}` } }),
        403,
        'INVALID_KEY',
      );
  }
  expect(fixture.upstream.seen).toEqual([]);
});

test(
  'policies of the proxy and of its credential are evaluated before anything is forwarded',
  spec('The service authenticates the key,', 'evaluates ABAC policies,'),
  async ({ fixture }) => {
    const [proxy, other] = [await fixture.proxyTo(), await fixture.proxyTo()];
    const rule = { type: 'manual_approval' };
    await fixture.policy(rule, { targetType: 'proxy', targetId: proxy.id });
    expect(codeOf(await proxy.send('tools/call'))).toEqual([403, 'POLICY_DENIED']);
    expect((await other.send('tools/call')).status).toBe(200);
    await fixture.policy(rule, { targetType: 'token', targetId: 'github' });
    expect(codeOf(await other.send('tools/call'))).toEqual([403, 'POLICY_DENIED']);
    expect(fixture.upstream.seen).toHaveLength(1);
  },
);

test(
  'a request is forwarded to /v1/proxy with a signature and a ticket',
  spec(
    'The service authenticates the key,',
    'and forwards the request to {webhook_url}/v1/proxy with a signed ticket.',
  ),
  async ({ fixture }) => {
    const proxy = await fixture.proxyTo();
    fixture.passed();
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'x' } };
    await proxy.call('POST', { body });
    await proxy.call('GET');
    const [post, get] = fixture.passed().split('POST /v1/proxy HTTP/1.1\r\n').slice(1);
    expect(post).toContain(`\r\n\r\n${JSON.stringify(body)}`);
    const tickets = [post, get].map((text) => {
      expect(text).toMatch(/^signature: sv=:[\w+/]{43}=:\r$/im);
      expect(text).toMatch(/^signature-input: sv=\(.*"sv-ticket".*\);/im);
      return claimsOf(/^sv-ticket: (.+)\r$/im.exec(text ?? '')?.[1]);
    });
    const claims = { op: 'proxy', svc: 'github', sub: proxy.id, prx: proxy.id };
    expect(tickets).toMatchObject([
      { ...claims, htm: 'POST' },
      { ...claims, htm: 'GET' },
    ]);
    expect(tickets[0]?.['jti']).not.toBe(tickets[1]?.['jti']);
  },
);

test(
  'the webhook injects the credential into the headers of the upstream request',
  spec('The webhook injects the real credential, substituting ${TOKEN} in the header templates.'),
  async ({ fixture }) => {
    const proxy = await fixture.proxyTo();
    await proxy.call('POST', {
      body: {},
      headers: { 'x-api-key': proxy.key, cookie: 'a=b', 'mcp-name': 's' },
    });
    const { headers } = fixture.upstream.seen[0]!;
    expect(headers).toMatchObject({ authorization: `Bearer ${SECRET}`, 'mcp-name': 's' });
    for (const name of ['x-api-key', 'cookie', 'sv-ticket', 'signature'])
      expect(headers).not.toHaveProperty(name);
    expect(JSON.stringify(headers)).not.toContain(proxy.key);
  },
);

test(
  'the response of the upstream is streamed back',
  spec('It calls the upstream service, and the service streams the response back.'),
  async ({ fixture }) => {
    const proxy = await fixture.proxyTo();
    const begun = new Promise<ServerResponse>((resolve) => {
      fixture.upstream.answer = (_call, res) => {
        res.writeHead(201, { 'content-type': 'text/event-stream', 'x-said': 's' }).flushHeaders();
        resolve(res);
      };
    });
    const sent = request(fixture.pair.controlPlaneUrl() + PROXY, {
      headers: { 'x-mcp-key': proxy.key },
      agent: false,
    }).end();
    const [res] = (await once(sent, 'response')) as [IncomingMessage];
    expect([res.statusCode, res.headers['x-said']]).toEqual([201, 's']);
    const [upstream, events] = [await begun, res[Symbol.asyncIterator]()];
    for (let n = 0; n < 5; n++) {
      upstream.write(`data: ${n}\n\n`);
      expect(String((await events.next()).value)).toBe(`data: ${n}\n\n`);
    }
    upstream.end();
    expect(await events.next()).toMatchObject({ done: true });
  },
);

test(
  'a redirect of the upstream is not followed',
  spec('Upstream 3xx responses are not followed.'),
  async ({ fixture }) => {
    const proxy = await fixture.proxyTo();
    const session = await fixture.sessionProxyTo();
    for (const status of [301, 302, 303, 307, 308])
      for (const each of [proxy, session]) {
        fixture.upstream.seen.length = 0;
        fixture.upstream.answer = (_call, res) => res.writeHead(status, { location: '/elsewhere' }).end();
        expectHttpRefusal(await each.send('tools/call'), 502, 'UPSTREAM_REDIRECT');
        fixture.upstream.answer = (_call, res) => res.writeHead(status, { location: '/mcp' }).end();
        const answer = await each.send('tools/call');
        expect([answer.status, answer.headers.get('location')]).toEqual([
          status,
          expect.stringMatching(/^http:.*\/api\/proxy\/mcp$/),
        ]);
        expect(fixture.upstream.seen.map(({ url }) => url)).toEqual(['/mcp', '/mcp']);
      }
  },
);

test(
  'the webhook refreshes an expired credential before the upstream call',
  spec('Expired stored credentials are refreshed by the webhook before the upstream call.'),
  async ({ fixture }) => {
    const { provider, pair } = fixture;
    provider.register({ id: 'c', method: 'none' });
    const { accessToken, refreshToken } = provider.grant('c');
    await fixture.store('expired', {
      tokenType: 'JWT',
      accessToken,
      refreshToken,
      expiryTime: formatTime(pair.clock.now() - 1_000),
      provider: { tokenUrl: provider.url, clientId: 'c' },
    });
    const proxy = await fixture.proxyTo({ serviceName: 'expired' });
    const answers = await Promise.all(Array.from({ length: 5 }, () => proxy.send('tools/call')));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    // The service's own notice may come once this is over, and refreshes the next pair.
    const asked = provider.calls.filter(({ form }) => form.get('refresh_token') === refreshToken);
    expect(asked).toHaveLength(1);
    const [fresh, ...others] = new Set(shown(fixture));
    expect([others, fresh === `Bearer ${accessToken}`]).toEqual([[], false]);
    expect(provider.gave(fresh?.slice('Bearer '.length) ?? '')).toBe(true);
  },
);

test(
  'GET, DELETE and OPTIONS are forwarded',
  spec('Methods GET, DELETE and OPTIONS are also handled. A GET is the SSE transport probe.'),
  async ({ fixture }) => {
    for (const proxy of [await fixture.proxyTo(), await fixture.sessionProxyTo()]) {
      fixture.upstream.seen.length = 0;
      for (const method of ['GET', 'DELETE', 'OPTIONS']) expect((await proxy.call(method)).status).toBe(200);
      expect(fixture.upstream.seen.map(({ method }) => method)).toEqual(['GET', 'DELETE', 'OPTIONS']);
      for (const method of ['HEAD', 'PUT', 'PATCH']) {
        const { status, headers } = await proxy.call(method);
        expect([status, headers.get('allow')]).toEqual([405, 'GET, POST, DELETE, OPTIONS']);
      }
      // The probe tells whether there is a stream: both of an upstream's answers come as they are.
      fixture.upstream.answer = (_call, res) => res.writeHead(405, { allow: 'POST' }).end();
      expect((await proxy.call('GET')).status).toBe(405);
      fixture.upstream.answer = ({ headers }, res) =>
        res.writeHead(200, { 'content-type': headers.accept }).end('data: 1\n\n');
      const stream = await proxy.call('GET', { headers: { accept: 'text/event-stream' } });
      expect([stream.headers.get('content-type'), stream.text]).toEqual(['text/event-stream', 'data: 1\n\n']);
    }
  },
);

test(
  'a batch is forwarded as it is',
  spec('A JSON-RPC batch body is passed through as it stands.'),
  async ({ fixture }) => {
    const rawBody = '[ {"jsonrpc":"2.0","id":1 ,"method":"tools/list"},\r\n{"b":"\\u00e4ä","a":1e2}, [] ]\n';
    for (const proxy of [await fixture.proxyTo(), await fixture.sessionProxyTo()]) {
      fixture.upstream.answer = ({ body }, res) => res.writeHead(200, { 'x-kind': 'batch' }).end(body);
      const answer = await proxy.call('POST', { rawBody, headers: { 'content-type': 'application/json' } });
      expect([answer.status, answer.text, answer.headers.get('x-kind')]).toEqual([200, rawBody, 'batch']);
    }
    expect(fixture.upstream.seen.map(({ body }) => body.toString())).toEqual([rawBody, rawBody]);
  },
);

test(
  'the Authorization header precedes x-mcp-key',
  spec('1 | Authorization header | Bearer mcp_<key>', '2 | x-mcp-key header | mcp_<key>'),
  async ({ fixture }) => {
    const [proxy, other] = [await fixture.proxyTo(), newKey('mcp')];
    const asked = [
      [{ authorization: `Bearer ${proxy.key}` }, 200],
      [{ 'x-mcp-key': proxy.key }, 200],
      [{ authorization: `Bearer ${proxy.key}`, 'x-mcp-key': other }, 200],
      [{ authorization: `Bearer ${other}`, 'x-mcp-key': proxy.key }, 403],
      [{ authorization: 'Basic eDp5', 'x-mcp-key': proxy.key }, 200],
      [{ authorization: proxy.key }, 401],
      [{ 'x-agent-key': proxy.key }, 401],
    ] as const;
    const url = fixture.pair.controlPlaneUrl() + PROXY;
    for (const [headers, status] of asked)
      expect([headers, (await byHand(url, { method: 'GET', headers })).status]).toEqual([headers, status]);
  },
);
