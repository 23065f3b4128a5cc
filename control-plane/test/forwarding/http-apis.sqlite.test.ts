import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type PlainUpstream, startPlainUpstream } from '../proxy-clients/plain-upstream.ts';
import {
  HTTP_PROXY,
  type HttpProxy,
  basic,
  httpProxyOn,
  openAt,
  wholeOf,
} from '../support/http-proxy-steps.ts';
import { storeOn } from '../support/pair-agents.ts';
import { type PairedService, startPairedService } from '../support/paired-service.ts';
import { PROXY, type TestProxy, proxyOn } from '../support/proxy-steps.ts';

// Both hops with the reference webhook (PROTOCOL.md section 5.8).

const SECRET = 'canary/of an HTTP API: 100%';
const PATH_SECRET = 'path-canary-7c1f';

let service: PairedService;
let owner: Parameters<typeof proxyOn>[0];
let upstream: PlainUpstream;
let base: string;
let api: HttpProxy;
let mcp: TestProxy;
let seen: { method: string; url: string; headers: IncomingHttpHeaders; rawHeaders: string[]; body: Buffer }[];
let answering: (res: ServerResponse, req: IncomingMessage) => void;

beforeAll(async () => {
  upstream = await startPlainUpstream(async (req, res) => {
    const { method = '', url = '', headers, rawHeaders } = req;
    seen.push({ method, url, headers, rawHeaders, body: await buffer(req) });
    answering(res, req);
  });
  base = `${upstream.origin}/v3`;
  service = await startPairedService({ logLevel: 'trace' });
  owner = { running: { url: service.pair.controlPlaneUrl() }, admin: service.admin };
  const record = { tokenType: 'PlainText', value: SECRET, allowedHosts: [upstream.origin] };
  await storeOn(service.pair, 'github', { ...record, allowedQuery: ['key'] });
  api = await httpProxyOn(owner, { upstreamUrl: base });
  mcp = await proxyOn(owner, { upstreamUrl: base });
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
});
beforeEach(() => {
  service.clock.advance(60_000);
  seen = [];
  answering = (res) => void res.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}');
});

const codeOf = (answer: { status: number; text: string }): unknown[] => [
  answer.status,
  (JSON.parse(answer.text) as { code?: unknown }).code,
];

it('the key selects the proxy, at the one address that all proxies share', async () => {
  const other = await httpProxyOn(owner, { upstreamUrl: `${upstream.origin}/other` });
  expect(other.address).toBe(api.address);
  await other.ask('/x');
  await api.ask('/x');
  expect(seen.map(({ url }) => url)).toEqual(['/other/x', '/v3/x']);
});

describe('what the upstream gets', () => {
  it.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'M-SEARCH'])(
    '%s with its body, and the credential in place of the key',
    async (method) => {
      const body = Buffer.from(Array.from({ length: 100_000 }, (_, at) => at % 251));
      expect((await api.ask('/repos', { method, body })).status).toBe(200);
      expect(seen).toMatchObject([{ method, url: '/v3/repos' }]);
      expect(seen[0]?.body.equals(body)).toBe(true);
      expect(seen[0]?.headers.authorization).toBe(`Bearer ${SECRET}`);
    },
  );

  it.each([
    '',
    '/',
    '?page=2',
    '/a%2Fb/%7Euser',
    "/it's;v=1/(a)/a+b/@scope%2fname",
    "/search?q=it's+%2B1&q=&%5B%5D[]=|^`{}",
    '/a//b/',
    '/x?redirect=https://elsewhere.example//../',
    '/%E2%9C%93/%zz?%',
  ])('the address %j byte for byte', async (target) => {
    expect((await api.ask(target)).status).toBe(200);
    expect(seen.map(({ url }) => url)).toEqual([`/v3${target}`]);
  });

  it('the fields of the agent, except those that authenticate, route or are added by intermediaries', async () => {
    const kept = {
      accept: 'application/vnd.github+json',
      'x-github-api-version': '2022-11-28',
      'if-none-match': '"abc"',
      range: 'bytes=0-9',
      'content-encoding': 'gzip',
      'content-type': 'application/x-git-upload-pack-request',
      'idempotency-key': '42',
      'user-agent': 'git/2.47',
      'mcp-session-id': 'of no meaning here',
    };
    const dropped = {
      cookie: 'a=b',
      'x-agent-key': 'svagent_x',
      'x-forwarded-for': '192.0.2.1',
      forwarded: 'for=192.0.2.1',
      'x-real-ip': '192.0.2.1',
      via: '1.1 x',
      'proxy-authorization': 'Basic eA==',
      'sec-fetch-mode': 'cors',
      'sv-ticket': 'x',
      'sv-target': '/elsewhere',
      referer: 'https://agent.example/',
      te: 'trailers',
      'x-hop': 'named by Connection',
      connection: 'close, x-hop',
      'accept-encoding': 'br',
    };
    const headers = { ...kept, ...dropped, 'x-mcp-key': api.key };
    await api.ask('/git-upload-pack', { method: 'POST', headers, body: 'x' });
    const [got] = seen;
    expect(got?.headers).toMatchObject(kept);
    expect(got?.headers['accept-encoding']).toBe('identity');
    for (const name of Object.keys(dropped))
      if (!['accept-encoding', 'connection'].includes(name)) expect(got?.headers).not.toHaveProperty(name);
    expect(JSON.stringify(got?.rawHeaders)).not.toContain(api.key);
  });

  it('repeated field lines as one, as the signature covers them', async () => {
    const headers = { 'x-mcp-key': api.key, 'x-topic': ['a', 'b'] };
    await api.ask('/', { headers });
    expect(seen[0]?.headers['x-topic']).toBe('a, b');
  });
});

describe('the key', () => {
  it.each([
    ['Bearer', (key: string) => `Bearer ${key}`],
    ['the password of Basic', (key: string) => basic('x-access-token', key)],
    ['the password of Basic without a user', (key: string) => basic('', key)],
    ['the scheme of GitHub clients', (key: string) => `token ${key}`],
  ])('is taken as %s', async (_how, authorization) => {
    const answer = await api.ask('/user', { headers: { authorization: authorization(api.key) } });
    expect([answer.status, seen.length]).toEqual([200, 1]);
  });

  it('is requested with a Basic challenge, which git needs, and a wrong one is denied', async () => {
    const without = await api.ask('/info/refs?service=git-upload-pack', { headers: {} });
    expect(codeOf(without)).toEqual([401, 'MISSING_KEY']);
    expect(without.headers['www-authenticate']).toBe('Basic realm="svault"');
    for (const authorization of [basic('x', 'nonsense'), basic('x', ''), 'Basic eA==', `Bearer ${mcp.key}x`])
      expect(codeOf(await api.ask('/user', { headers: { authorization } }))).toContain('INVALID_KEY');
    expect(seen).toEqual([]);
  });

  it('of the other kind of proxy is denied with the right address, both ways', async () => {
    const elsewhere = await openAt(owner.running.url, PROXY, {
      method: 'POST',
      headers: { 'x-mcp-key': api.key },
      body: '{}',
    }).then(wholeOf);
    expect(codeOf(elsewhere)).toEqual([403, 'FORBIDDEN']);
    expect(elsewhere.text).toContain(HTTP_PROXY);
    const other = await api.ask('/user', { headers: { 'x-mcp-key': mcp.key } });
    expect(codeOf(other)).toEqual([403, 'FORBIDDEN']);
    expect(other.text).toContain(PROXY);
    expect(seen).toEqual([]);
  });

  it('ends open streams when its proxy is revoked', async () => {
    const revoked = await httpProxyOn(owner, { upstreamUrl: base });
    answering = (res) => void res.writeHead(200, { 'content-type': 'text/plain' }).write('begun');
    const res = await revoked.open('/logs?follow=1');
    res.on('error', () => undefined);
    await once(res, 'data');
    const closed = new Promise((resolve) => res.once('close', resolve));
    expect((await service.admin('POST', `/api/proxies/${revoked.id}/revoke`)).status).toBe(200);
    await closed;
    expect(res.complete).toBe(false);
  });
});

describe('what the agent gets', () => {
  it('a HEAD with the length of the upstream, and no body', async () => {
    answering = (res) => void res.writeHead(200, { 'content-length': '12345', etag: '"x"' }).end();
    const answer = await api.ask('/archive.tar', { method: 'HEAD' });
    expect([answer.status, answer.headers['content-length'], answer.headers.etag, answer.text]).toEqual([
      200,
      '12345',
      '"x"',
      '',
    ]);
    expect(seen.map(({ method }) => method)).toEqual(['HEAD']);
  });

  it('ranges and conditional responses with their fields, as without the proxy', async () => {
    const partial = { 'content-range': 'bytes 0-3/10', 'accept-ranges': 'bytes', 'content-length': '4' };
    answering = (res) => void res.writeHead(206, partial).end('0123');
    const part = await api.ask('/file', { headers: { 'x-mcp-key': api.key, range: 'bytes=0-3' } });
    expect([part.status, part.text]).toEqual([206, '0123']);
    expect(part.headers).toMatchObject(partial);
    const unchanged = { etag: '"1"', 'last-modified': 'Sat, 28 Nov 2026 07:00:00 GMT', vary: 'accept' };
    answering = (res) => void res.writeHead(304, unchanged).end();
    const none = await api.ask('/file', { headers: { 'x-mcp-key': api.key, 'if-none-match': '"1"' } });
    expect([none.status, none.text]).toEqual([304, '']);
    expect(none.headers).toMatchObject(unchanged);
    answering = (res) => void res.writeHead(204).end();
    expect(await api.ask('/file', { method: 'DELETE' })).toMatchObject({ status: 204, text: '' });
  });

  it('events as they come', async () => {
    const began = new Promise<ServerResponse>((resolve) => {
      answering = (res) => {
        res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
        resolve(res);
      };
    });
    const res = await api.open('/v1/responses', { method: 'POST', body: '{"stream":true}' });
    const from = await began;
    const events = res[Symbol.asyncIterator]();
    // An `endpoint` event has no meaning for an HTTP API.
    for (const event of ['event: endpoint\ndata: /x\n\n', 'data: 1\n\n', 'data: 2\n\n']) {
      from.write(event);
      expect(String((await events.next()).value)).toBe(event);
    }
    res.destroy();
    await once(from, 'close');
  });

  it('the links and locations of the API as addresses of the proxy', async () => {
    const links = `<${base}/issues?page=2>; rel="next", <https://elsewhere.example/>; rel="help"`;
    answering = (res) =>
      void res
        .writeHead(201, { link: links, location: `${base}/issues/7`, 'content-location': '/outside' })
        .end();
    const { headers } = await api.ask('/issues');
    const at = api.address;
    expect(headers.link).toBe(`<${at}/issues?page=2>; rel="next"`);
    expect([headers.location, headers['content-location']]).toEqual([`${at}/issues/7`, undefined]);
  });

  it('a redirect below the base URL as one to the proxy, and no other redirect', async () => {
    answering = (res) => void res.writeHead(301, { location: '/v3/repositories/1?x=1' }).end();
    const below = await api.ask('/repos/acme/old');
    expect([below.status, below.headers.location]).toEqual([301, `${api.address}/repositories/1?x=1`]);
    answering = (res) => void res.writeHead(302, { location: 'https://elsewhere.example/taken?sig=1' }).end();
    const away = await api.ask('/archive');
    expect(codeOf(away)).toEqual([502, 'UPSTREAM_REDIRECT']);
    expect(away.text).toContain('--follow-redirects');
    expect(away.text).not.toContain('taken');
  });

  it('502 UPSTREAM_UNAUTHORIZED where the upstream rejects the credential', async () => {
    answering = (res) => void res.writeHead(401, { 'www-authenticate': 'Basic realm="GitHub"' }).end();
    const answer = await api.ask('/user');
    expect(codeOf(answer)).toEqual([502, 'UPSTREAM_UNAUTHORIZED']);
    expect(answer.headers['www-authenticate']).toBeUndefined();
  });

  it('plain JSON for every error, also of a POST', async () => {
    const locked = await service.admin('POST', '/api/vault/lock');
    expect(locked.status).toBeLessThan(300);
    const denied = await api.ask('/user', { method: 'POST', body: '{"jsonrpc":"2.0","id":1,"method":"x"}' });
    await service.admin('POST', '/api/vault/unlock');
    expect(codeOf(denied)).toEqual([423, 'VAULT_LOCKED']);
    expect(denied.text).not.toContain('jsonrpc');
  });
});

describe('what is denied', () => {
  it.each(['/../admin', '/a/%2e%2E/b', '/a/./b', '/a\\b', '/a%2f..%2fb'])(
    'the address %j, with 403 REQUEST_NOT_ALLOWED',
    async (target) => {
      expect(codeOf(await api.ask(target))).toEqual([403, 'REQUEST_NOT_ALLOWED']);
      expect(seen).toEqual([]);
    },
  );

  it('an address or a header that is too long', async () => {
    expect(codeOf(await api.ask(`/${'x'.repeat(9_000)}`))).toEqual([403, 'REQUEST_NOT_ALLOWED']);
    const headers = { 'x-mcp-key': api.key, 'x-long': 'y'.repeat(15_000) };
    expect((await api.ask('/', { headers })).status).toBe(200);
    expect((await api.ask('/', { headers: { ...headers, 'x-more': 'y'.repeat(2_000) } })).status).toBe(431);
    expect(seen).toHaveLength(1);
  });

  it('a body of more than 8 MiB, with 413 that says so', async () => {
    const answer = await api.ask('/upload', { method: 'PUT', body: Buffer.alloc(8 * 1024 * 1024 + 1) });
    expect(codeOf(answer)).toEqual([413, 'TOO_LARGE']);
    expect(answer.text).toContain('8388608');
  });

  it('TRACE, and an address in a noncanonical form', async () => {
    const headers = { 'x-mcp-key': api.key };
    expect((await api.ask('/', { method: 'TRACE', headers })).status).toBe(405);
    for (const path of ['/api/proxy/httpx', '/api//proxy/http/x', `${owner.running.url}${HTTP_PROXY}/x`])
      expect((await wholeOf(await openAt(owner.running.url, path, { headers }))).status).toBe(404);
    expect(seen).toEqual([]);
  });
});

describe('templates', () => {
  it('${BASIC:user} is the credential as git sends it', async () => {
    const git = await httpProxyOn(owner, {
      upstreamUrl: base,
      headerTemplates: { authorization: 'Basic ${BASIC:x-access-token}' },
    });
    expect((await git.ask('/acme/site.git/info/refs')).status).toBe(200);
    expect(seen[0]?.headers.authorization).toBe(basic('x-access-token', SECRET));
  });

  it('a query parameter holds the credential at the end of the query, and an agent cannot name it', async () => {
    const settings = { upstreamUrl: base, queryTemplates: { key: '${TOKEN}' } };
    const keyed = await httpProxyOn(owner, settings);
    await keyed.ask('/geocode?address=a+b');
    await keyed.ask('/geocode');
    const value = encodeURIComponent(SECRET);
    expect(seen.map(({ url }) => url)).toEqual([
      `/v3/geocode?address=a+b&key=${value}`,
      `/v3/geocode?key=${value}`,
    ]);
    expect(seen[0]?.headers.authorization).toBeUndefined();
    expect(codeOf(await keyed.ask('/geocode?%6bey=mine'))).toEqual([403, 'REQUEST_NOT_ALLOWED']);
    const other = await httpProxyOn(owner, { ...settings, queryTemplates: { token: '${TOKEN}' } });
    const denied = await other.ask('/geocode');
    expect(codeOf(denied)).toEqual([502, 'DESTINATION_NOT_ALLOWED']);
    expect(denied.text).toContain('--allow-query token');
  });

  it('the credential does not come back in an address or a field', async () => {
    const keyed = await httpProxyOn(owner, {
      upstreamUrl: base,
      headerTemplates: {},
      queryTemplates: { key: '${TOKEN}' },
    });
    answering = (res, { url = '' }) =>
      void res.writeHead(200, { link: `<${upstream.origin}${url}>; rel="self"`, 'x-url': url }).end();
    const answer = await keyed.ask('/x');
    expect(answer.status).toBe(200);
    expect(tracesOf(SECRET, Buffer.from(JSON.stringify(answer)))).toEqual([]);
    answering = (res, { url = '' }) => void res.writeHead(302, { location: `${url}&again=1` }).end();
    expect(tracesOf(SECRET, Buffer.from(JSON.stringify(await keyed.ask('/x'))))).toEqual([]);
  });
});

describe('redirects: follow-without-credential', () => {
  let storage: PlainUpstream;
  let downloads: HttpProxy;
  let asked: { method: string | undefined; headers: IncomingHttpHeaders; url: string | undefined }[];

  beforeAll(async () => {
    storage = await startPlainUpstream(({ method, url, headers }, res) => {
      asked.push({ method, headers, url });
      if (url === '/loop') return res.writeHead(302, { location: '/loop' }).end();
      return res.writeHead(200, { 'content-type': 'application/zip', link: '</x>; rel=next' }).end('PK');
    });
    downloads = await httpProxyOn(owner, { upstreamUrl: base, redirects: 'follow-without-credential' });
  });
  afterAll(() => storage.close());
  beforeEach(() => {
    asked = [];
  });

  it('a download is fetched from the other origin without any field of the agent, and forwarded', async () => {
    answering = (res) => void res.writeHead(302, { location: `${storage.origin}/zip?sig=a'b` }).end();
    const headers = { 'x-mcp-key': downloads.key, 'x-private': '1', 'user-agent': 'agent' };
    const answer = await downloads.ask('/archive', { headers });
    expect([answer.status, answer.text, answer.headers.link]).toEqual([200, 'PK', undefined]);
    expect(asked).toHaveLength(1);
    expect(Object.keys(asked[0]?.headers ?? {}).toSorted()).toEqual([
      'accept-encoding',
      'connection',
      'host',
    ]);
    expect((await downloads.ask('/archive', { method: 'HEAD' })).status).toBe(200);
    expect(asked.map(({ method }) => method)).toEqual(['GET', 'HEAD']);
  });

  it('no POST is followed, and no more than three redirects are', async () => {
    answering = (res) => void res.writeHead(307, { location: `${storage.origin}/zip` }).end();
    expect(codeOf(await downloads.ask('/x', { method: 'POST' }))).toEqual([502, 'UPSTREAM_REDIRECT']);
    expect(asked).toEqual([]);
    answering = (res) => void res.writeHead(302, { location: `${storage.origin}/loop` }).end();
    expect(codeOf(await downloads.ask('/x'))).toEqual([502, 'UPSTREAM_ERROR']);
    expect(asked).toHaveLength(3);
  });
});

it('neither log contains a key, the credential or the requested path', async () => {
  await api.ask(`/${PATH_SECRET}?q=${PATH_SECRET}`);
  answering = (res) => void res.destroy();
  expect(codeOf(await api.ask(`/${PATH_SECRET}`))).toEqual([502, 'UPSTREAM_ERROR']);
  await api.ask(`/${PATH_SECRET}`, { headers: { authorization: basic('x', api.key.slice(0, -1)) } });
  for (const program of ['control-plane', 'webhook'] as const) {
    const log = service.pair.logOf(program);
    expect(log.length).toBeGreaterThan(0);
    for (const text of [api.key, basic('x-access-token', api.key).slice(6), PATH_SECRET])
      expect(log).not.toContain(text);
    expect(tracesOf(SECRET, Buffer.from(log))).toEqual([]);
  }
  expect(tracesOf(SECRET, service.pair.recorded())).toEqual([]);
  const events = await service.admin('GET', `/api/audit?proxyId=${api.id}&limit=100`);
  expect(events.json.items.length).toBeGreaterThan(10);
  expect(events.text).not.toContain(PATH_SECRET);
});
