import { once } from 'node:events';
import { type IncomingMessage, type RequestListener, type ServerResponse, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { freePort } from '@svault/compose/free-port';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startChild } from '../mcp-clients/child.ts';
import { storeOn } from '../support/pair-agents.ts';
import { type PairedService, startPairedService } from '../support/paired-service.ts';
import { type PlainUpstream, startPlainUpstream } from '../proxy-clients/plain-upstream.ts';
import { PROXY, type TestProxy, codeOf, proxyOn, sessionSettings } from '../support/proxy-steps.ts';

// Responses of an upstream that would mislead a client of the proxy: to another origin with its proxy key, to a sign-in at
// the upstream, or to a transport that the proxy does not support. Through the webhook, and with a session.

const CREDENTIAL = 'canary-of-the-upstream-credential';
let service: PairedService;
let owner: Parameters<typeof proxyOn>[0];
let upstream: PlainUpstream;
let elsewhere: PlainUpstream;
let answer: RequestListener;
/** Paths requested of the upstream, and of the other origin. */
let asked: string[];
/** As the service's settings have it, wherever it listens. */
let baseUrl: string;
let proxies: Readonly<Record<string, TestProxy>>;

beforeAll(async () => {
  upstream = await startPlainUpstream((req, res) => {
    asked.push(req.url ?? '');
    answer(req, res);
  });
  elsewhere = await startPlainUpstream((req, res) => {
    asked.push(`elsewhere: ${req.url}`);
    res.end(JSON.stringify(req.headers));
  });
  service = await startPairedService();
  owner = { running: { url: service.pair.controlPlaneUrl() }, admin: service.admin };
  await storeOn(service.pair, 'github', {
    tokenType: 'PlainText',
    value: CREDENTIAL,
    allowedHosts: [upstream.origin, elsewhere.origin],
  });
  baseUrl = (await service.anyone('GET', '/.well-known/oauth-authorization-server')).json.issuer;
  const agent = await service.agent();
  proxies = {
    Token: await proxyOn(owner, { upstreamUrl: upstream.url }),
    sv_session: await proxyOn(owner, sessionSettings(agent.id, upstream.url)),
  };
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
  await elsewhere.close();
});
beforeEach(() => {
  service.clock.advance(60_000);
  asked = [];
});

const hostOf = ({ url }: PlainUpstream): string => new URL(url).host;
const through = (kind: string): TestProxy => {
  const proxy = proxies[kind];
  if (proxy === undefined) throw new Error(`no proxy is called ${kind}`);
  return proxy;
};
const redirecting =
  (status: number, location: string): RequestListener =>
  (_req, res) =>
    res.writeHead(status, { location }).end('moved');
/** As a client that follows redirects and keeps its own headers, as most do with `x-mcp-key`. */
const following = (proxy: TestProxy): Promise<Response> =>
  fetch(owner.running.url + PROXY, { method: 'POST', headers: { 'x-mcp-key': proxy.key }, body: '{}' });

describe.each(['Token', 'sv_session'])('a redirect of the upstream of a %s proxy', (kind) => {
  it.each([300, 301, 302, 303, 305, 307, 308, 399])(
    'with status %i to another origin is 502 UPSTREAM_REDIRECT, and the proxy key goes nowhere',
    async (status) => {
      const target = `${elsewhere.url}/taken?secret=of-the-query`;
      answer = redirecting(status, target);
      const followed = await following(through(kind));
      const said = (await followed.json()) as { error: string; code: string };
      expect([followed.status, said.code]).toEqual([502, 'UPSTREAM_REDIRECT']);
      expect(said.error).toContain(new URL(elsewhere.url).origin);
      expect(JSON.stringify([said, [...followed.headers]])).not.toMatch(/taken|of-the-query/);
      expect(followed.headers.has('location')).toBe(false);
      expect(asked).toEqual(['/mcp']);
    },
  );

  it.each([
    ['without a scheme', () => `//${hostOf(elsewhere)}/x`],
    ['with backslashes', () => `\\\\${hostOf(elsewhere)}\\x`],
    ['with user information', () => `http://${hostOf(upstream)}@${hostOf(elsewhere)}/x`],
    ['of another scheme', () => `https://${hostOf(upstream)}/mcp`],
    ['of another port', () => 'http://127.0.0.1:9/mcp'],
    ['of another scheme than http', () => 'javascript:alert(1)'],
    ['that is malformed', () => 'http://[x'],
  ])('to a Location %s is denied', async (_what, target) => {
    answer = redirecting(307, target());
    expect(codeOf(await through(kind).send('tools/call'))).toEqual([502, 'UPSTREAM_REDIRECT']);
    expect(asked).toEqual(['/mcp']);
  });

  it('with two Locations is denied', async () => {
    answer = (_req, res) => res.writeHead(307, ['location', '/mcp', 'location', elsewhere.url]).end();
    expect(codeOf(await through(kind).send('tools/call'))).toEqual([502, 'UPSTREAM_REDIRECT']);
  });

  it.each([
    ['absolute', () => upstream.url],
    ['relative', () => '/mcp'],
    ['with a fragment', () => '/mcp#part'],
    ['by a detour', () => '/x/../%6dcp/../mcp'],
  ])('to its own URL, %s, leads to the proxy', async (_how, target) => {
    answer = redirecting(307, target());
    const { status, headers } = await through(kind).send('tools/call');
    expect([status, headers.get('location')]).toEqual([307, baseUrl + PROXY]);
  });

  it.each([
    ['/mcp/', /with a trailing slash/],
    ['/other?tenant=of-the-query', /another address on its host/],
  ])('to %s on its own host is denied, since the proxy has one URL', async (target, words) => {
    answer = redirecting(307, target);
    const refused = await through(kind).send('tools/call');
    expect(codeOf(refused)).toEqual([502, 'UPSTREAM_REDIRECT']);
    expect(refused.json.error).toMatch(words);
    expect(refused.json.error).toContain('upstreamUrl');
    expect(refused.text).not.toContain('of-the-query');
    expect(asked).toEqual(['/mcp']);
  });

  it('without a Location is forwarded', async () => {
    answer = (_req, res) => res.writeHead(304, { location: elsewhere.url, etag: '"x"' }).end();
    const { status, headers } = await through(kind).call('GET');
    expect([status, headers.get('etag'), headers.has('location')]).toEqual([304, '"x"', false]);
    answer = (_req, res) => res.writeHead(300).end('choose');
    expect((await through(kind).call('GET')).text).toBe('choose');
  });

  it('by another field is not forwarded', async () => {
    answer = (_req, res) => {
      const address = elsewhere.url;
      res.writeHead(201, { location: address, 'content-location': address, link: `<${address}>; rel=next` });
      res.end('made');
    };
    const made = await through(kind).send('tools/call');
    expect([made.status, made.text]).toEqual([201, 'made']);
    expect(JSON.stringify([...made.headers])).not.toContain(hostOf(elsewhere));
  });
});

describe.each([
  ['Token', /the credential "github".*svault set github$/],
  ['sv_session', /the session of the agent/],
])('a 401 of the upstream of a %s proxy', (kind, words) => {
  it('is 502 UPSTREAM_UNAUTHORIZED, without its challenge', async () => {
    const challenge = `Bearer resource_metadata="${elsewhere.url}"`;
    answer = (_req, res) =>
      res.writeHead(401, { 'www-authenticate': challenge }).end('{"error":"words of the upstream"}');
    for (const refused of [await through(kind).send('tools/call'), await through(kind).call('GET')]) {
      expect(codeOf(refused)).toEqual([502, 'UPSTREAM_UNAUTHORIZED']);
      expect(refused.json.error).toMatch(words);
      expect(refused.headers.has('www-authenticate')).toBe(false);
      expect(refused.text).not.toContain('words of the upstream');
    }
    // No client fetched the URL of the challenge.
    expect(asked).toEqual(['/mcp', '/mcp']);
  });

  it('with an endless body is answered all the same', async () => {
    answer = (_req, res) => void res.writeHead(401).write('it goes on');
    expect(codeOf(await through(kind).send('tools/call'))).toEqual([502, 'UPSTREAM_UNAUTHORIZED']);
  });

  // The Fetch standard turns a 407 into a network error.
  it('is answered in the same way as a 407', async () => {
    answer = (_req, res) => res.writeHead(407, { 'proxy-authenticate': 'Basic' }).end('no');
    const refused = await through(kind).send('tools/call');
    expect(codeOf(refused)).toEqual([502, 'UPSTREAM_UNAUTHORIZED']);
    expect(refused.headers.has('proxy-authenticate')).toBe(false);
  });

  it('differs from a 403, which is forwarded without its challenge', async () => {
    const challenge = 'Bearer error="insufficient_scope"';
    answer = (_req, res) =>
      res.writeHead(403, { 'www-authenticate': challenge, 'proxy-authenticate': challenge }).end('no');
    const { headers, text, status: said } = await through(kind).send('tools/call');
    expect([said, text]).toEqual([403, 'no']);
    for (const name of ['www-authenticate', 'proxy-authenticate']) expect(headers.has(name)).toBe(false);
  });
});

describe.each(['Token', 'sv_session'])('the event stream of the upstream of a %s proxy', (kind) => {
  const stream =
    (...pieces: readonly string[]): RequestListener =>
    (_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
      for (const piece of pieces) res.write(piece);
    };
  const opened = async (headers: Readonly<Record<string, string>> = {}): Promise<IncomingMessage> => {
    const key = { 'x-mcp-key': through(kind).key };
    const sent = request(owner.running.url + PROXY, { headers: { ...key, ...headers }, agent: false }).end();
    const [res] = (await once(sent, 'response')) as [IncomingMessage];
    return res;
  };

  it.each([
    ['at once', ['event: endpoint\ndata: /messages?sessionId=1\n\n']],
    ['with other line ends', ['event:endpoint\r\ndata: /messages\r\n\r\n']],
    [
      'after a byte order mark, a comment and a retry time',
      ['\ufeff: hello\n\nretry: 5\n\n', 'event: endpoint\n'],
    ],
    ['letter by letter', 'event: endpoint\rdata: /m\r\r'.split('')],
    ['after its data', ['data: /messages\nevent: endpoint\n\n']],
  ])('is 502 UPSTREAM_UNSUPPORTED where it begins with an endpoint event, %s', async (_how, pieces) => {
    answer = stream(...pieces);
    const refused = await through(kind).call('GET', { headers: { accept: 'text/event-stream' } });
    expect(codeOf(refused)).toEqual([502, 'UPSTREAM_UNSUPPORTED']);
    expect(refused.json.error).toMatch(/HTTP\+SSE transport of MCP revision 2024-11-05.*upstreamUrl/);
  });

  it.each([
    ['another event', 'event: message\ndata: 1\n\n'],
    ['data', 'data: endpoint\n\n'],
    ['more than is read', `: ${'x'.repeat(5_000)}\n\nevent: endpoint\n\n`],
  ])('is forwarded whole where it begins with %s', async (_what, text) => {
    const later = 'event: endpoint\ndata: not the first\n\n';
    answer = (_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' }).write(text);
      res.end(later);
    };
    expect((await through(kind).call('GET')).text).toBe(text + later);
  });

  it('has its head before its first event, and breaks off where that is a late endpoint event', async () => {
    let began!: (res: ServerResponse) => void;
    const from = new Promise<ServerResponse>((resolve) => (began = resolve));
    answer = (_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      began(res);
    };
    const res = await opened();
    expect(res.statusCode).toBe(200);
    (await from).write('event: endpoint\ndata: /messages\n\n');
    await expect(res.toArray()).rejects.toThrow('aborted');
  });

  it('is not delayed where the client has negotiated a revision', async () => {
    answer = (_req, res) => res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    const res = await opened({ 'mcp-protocol-version': '2025-11-25' });
    expect(res.statusCode).toBe(200);
    res.destroy();
  });

  it('that ends before an event is forwarded', async () => {
    answer = (_req, res) => res.writeHead(200, { 'content-type': 'text/event-stream' }).end(': bye\n\n');
    expect((await through(kind).call('GET')).text).toBe(': bye\n\n');
  });
});

it('a server of the HTTP+SSE transport is denied at once, and its client reads why', async () => {
  const program = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));
  const port = await freePort();
  const home = tempDir();
  const child = startChild(home.path, program, ['sse'], { PORT: String(port) });
  await child.says(/running on port/i);
  const allowedHosts = [`http://127.0.0.1:${port}`];
  await storeOn(service.pair, 'older', { tokenType: 'PlainText', value: CREDENTIAL, allowedHosts });
  const older = await proxyOn(owner, {
    serviceName: 'older',
    upstreamUrl: `http://127.0.0.1:${port}/sse`,
  });
  // A client of both transports starts with a POST, which such a server rejects.
  expect((await older.send('initialize')).status).toBe(404);
  // oxlint-disable-next-line typescript/no-deprecated -- it is the client that hung
  const transport = new SSEClientTransport(new URL(owner.running.url + PROXY), {
    eventSourceInit: {
      fetch: (url, init) => fetch(url, { ...init, headers: { ...init?.headers, 'x-mcp-key': older.key } }),
    },
  });
  await expect(transport.start()).rejects.toThrow(/502/);
  await transport.close();
  await child.stop();
  home.remove();
});
