import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type PlainUpstream, startPlainUpstream } from '../proxy-clients/plain-upstream.ts';
import { type ManagementService, startService } from '../support/management-service.ts';
import { type TestProxy, codeOf, proxyOn, sessionSettings } from '../support/proxy-steps.ts';
import { stepsOn } from '../support/service-steps.ts';

// Proxies whose upstream accepts sessions of the control plane (specification, "POST /api/proxy/mcp", item 5). No webhook is bound.

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

let service: ManagementService;
let upstream: PlainUpstream;
let proxy: TestProxy;
let agent: { id: string };
let seen: Seen[];
let answering: (seen: Seen, res: ServerResponse) => void;

beforeAll(async () => {
  upstream = await startPlainUpstream(async (req, res) => {
    const { method, url, headers } = req;
    const request = { method, url, headers, body: await text(req) };
    seen.push(request);
    answering(request, res);
  });
  service = await startService({ SV_EGRESS_ALLOW: '127.0.0.0/8' });
  agent = await stepsOn(service.running.url, service.admin).agent();
  proxy = await proxyOn(service, sessionSettings(agent.id, `${upstream.url}?tenant=7`));
});
afterAll(async () => {
  await upstream.close();
  await service.stop();
});
beforeEach(() => {
  service.clock.advance(60_000);
  seen = [];
  answering = (_seen, res) => void res.writeHead(200, { 'mcp-session-id': 's' }).end('{"ok":true}');
});

const tokenSeen = (): string =>
  /^Bearer (svsess_.{43})$/.exec(seen.at(-1)?.headers.authorization ?? '')?.[1] ?? '';

// spec: With upstream auth type sv_session, the service itself injects Authorization: Bearer svsess_... and calls the upstream directly, with no webhook hop.
it('the upstream gets the request and its method, with a session token and without the caller’s credentials', async () => {
  const session = (await proxy.call('GET')).headers.get('mcp-session-id') ?? '';
  seen = [];
  for (const method of ['POST', 'DELETE', 'OPTIONS'])
    await proxy.call(method, {
      rawBody: '[1,{"a":1}]',
      headers: { 'mcp-session-id': session, cookie: 'a=b', 'x-api-key': 'k', 'sv-ticket': 'x' },
    });
  const answer = await proxy.call('GET');
  expect([answer.status, answer.text, answer.headers.get('mcp-session-id')]).toEqual([
    200,
    '{"ok":true}',
    session,
  ]);
  expect(answer.headers.get('content-security-policy')).toBe('sandbox');
  expect(seen.map(({ method, body }) => [method, body])).toEqual([
    ['POST', '[1,{"a":1}]'],
    ['DELETE', '[1,{"a":1}]'],
    ['OPTIONS', '[1,{"a":1}]'],
    ['GET', ''],
  ]);
  const token = tokenSeen();
  for (const { url, headers } of seen) {
    expect(url).toBe('/mcp?tenant=7');
    expect(headers.authorization).toBe(`Bearer ${token}`);
    expect(headers['accept-encoding']).toBe('identity');
    for (const name of ['cookie', 'x-api-key', 'sv-ticket', 'x-mcp-key'])
      expect(headers).not.toHaveProperty(name);
    expect(JSON.stringify(headers)).not.toContain(proxy.key);
  }
  expect(seen[0]?.headers).toMatchObject({
    'mcp-session-id': 's',
    'content-type': 'text/plain;charset=UTF-8',
  });
});

it('a header that echoes the token is withheld, and so are those that are never forwarded', async () => {
  answering = ({ headers }, res) => {
    const { authorization = '' } = headers;
    res.writeHead(403, {
      'x-echo': authorization,
      'x-echo-2': `a ${authorization.slice(7)} b`,
      'x-echo-3': Buffer.from(authorization).toString('base64'),
      'x-other': 'stays',
      'www-authenticate': 'Bearer',
      'sv-proxy-origin': 'webhook',
      'set-cookie': 'a=b',
    });
    res.end('no');
  };
  const { status, headers } = await proxy.send('tools/call');
  expect([status, headers.get('x-other')]).toEqual([403, 'stays']);
  for (const name of ['x-echo', 'x-echo-2', 'x-echo-3', 'www-authenticate', 'sv-proxy-origin', 'set-cookie'])
    expect(headers.has(name)).toBe(false);
});

describe('a failed call to the upstream is answered once and never retried', () => {
  it('after a broken connection, or an answer that is not HTTP', async () => {
    for (const spoil of [
      (res: ServerResponse) => res.socket?.destroy(),
      (res: ServerResponse) => res.socket?.end('nonsense\r\n\r\n'),
    ]) {
      answering = (_seen, res) => void spoil(res);
      expect(codeOf(await proxy.send('tools/call'))).toEqual([502, 'UPSTREAM_ERROR']);
    }
    expect(seen).toHaveLength(2);
    expect(codeOf(await proxy.send('tools/list'))).toEqual([502, 'UPSTREAM_ERROR']);
  });

  it('at a denied address', async () => {
    for (const address of ['https://169.254.169.254/latest', 'https://[::1]/mcp', 'https://0xa9fea9fe/']) {
      const made = await proxyOn(service, sessionSettings(agent.id, address));
      expect(codeOf(await made.send('tools/call'))).toEqual([502, 'DESTINATION_NOT_ALLOWED']);
    }
    expect(seen).toEqual([]);
  });
});
