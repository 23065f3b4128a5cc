import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, type RequestListener, request } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type PlainUpstream, startPlainUpstream } from '../proxy-clients/plain-upstream.ts';
import type { Answer } from '../support/management-service.ts';
import { storeOn } from '../support/pair-agents.ts';
import { type PairedService, startPairedService } from '../support/paired-service.ts';
import { PROXY, type TestProxy, codeOf, message, proxyOn, sessionSettings } from '../support/proxy-steps.ts';

// What holds for proxies of both kinds, by way of the webhook and directly with a session, between a client and an upstream
// that mean no good. All forms of answers and of session ids are in upstream-response.test.ts and session-ids.test.ts.

const SECRET = 'canary-of-the-injected-credential';
const EVIL = 'chosen-by-the-caller';
let service: PairedService;
let owner: Parameters<typeof proxyOn>[0];
let upstream: PlainUpstream;
let elsewhere: PlainUpstream;
let answer: RequestListener;
/** The requests of the upstream, and the paths of the other origin. */
let seen: { readonly headers: readonly string[]; readonly trailers: readonly string[] }[];
let taken: (string | undefined)[];
/** As the service's settings have it, wherever it listens. */
let baseUrl: string;
let settings: Readonly<Record<string, object>>;

beforeAll(async () => {
  upstream = await startPlainUpstream((req, res) => {
    req.resume().on('end', () => {
      seen.push({ headers: req.rawHeaders, trailers: req.rawTrailers });
      answer(req, res);
    });
  });
  elsewhere = await startPlainUpstream((req, res) => (taken.push(req.url), res.end()));
  service = await startPairedService();
  owner = { running: { url: service.pair.controlPlaneUrl() }, admin: service.admin };
  await storeOn(service.pair, 'github', {
    tokenType: 'PlainText',
    value: SECRET,
    allowedHosts: [upstream.origin, elsewhere.origin],
    allowedHeaders: ['authorization', 'mcp-param-api-key', 'user-agent', 'cookie'],
  });
  baseUrl = (await service.anyone('GET', '/.well-known/oauth-authorization-server')).json.issuer;
  const { id } = await service.agent();
  settings = {
    Token: {
      upstreamUrl: upstream.url,
      headerTemplates: {
        Authorization: 'Bearer ${TOKEN}',
        'Mcp-Param-Api-Key': '${TOKEN}',
        'User-Agent': 'agent/${TOKEN}',
        cookie: 'session=${TOKEN}',
      },
    },
    sv_session: {
      ...sessionSettings(id, upstream.url),
      headerTemplates: { 'Mcp-Param-Api-Key': SECRET, 'User-Agent': `agent/${SECRET}` },
    },
  };
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
  await elsewhere.close();
});

const NAMES = [
  ...['Proxy-Authorization', 'Cookie', 'Cookie2', 'User-Agent', 'X-Api-Key', 'Api-Key', 'Mcp-Param-Api-Key'],
  ...['X-Forwarded-For', 'X-Forwarded-Host', 'X-Forwarded-Proto', 'X-Forwarded-User', 'Forwarded'],
  ...['X-Real-Ip', 'X-Original-Url', 'X-Rewrite-Url', 'X-Http-Method-Override', 'Via', 'From'],
];
/** Of each name; the prefix of headers that travel stays where only the last hyphen changes, so that it would travel. */
const spellings = (name: string): readonly string[] => [
  name,
  name.toLowerCase(),
  name.toUpperCase(),
  name.replaceAll('-', '_'),
  name.replace(/-(?=[^-]*$)/, '_'),
];

describe.each([
  ['Token', /the credential "github".*svault set github$/],
  ['sv_session', /the session of the agent/],
])('a %s proxy', (kind, words) => {
  let proxy: TestProxy;
  beforeAll(async () => {
    proxy = await proxyOn(owner, settings[kind]);
  });
  beforeEach(() => {
    service.clock.advance(60_000);
    [seen, taken] = [[], []];
    answer = (_req, res) => void res.end('{}');
  });

  /** Sends header lines as they are. @returns the lines that reached the upstream, names and values */
  const send = async (...lines: readonly string[]): Promise<readonly string[]> => {
    const url = new URL(owner.running.url + PROXY);
    const headers = ['host', url.host, 'x-mcp-key', proxy.key, ...lines];
    const sent = request(url, { method: 'POST', headers, agent: false }).end('{}');
    const [res] = (await once(sent, 'response')) as [IncomingMessage];
    res.resume();
    expect(res.statusCode).toBe(200);
    return seen.at(-1)?.headers ?? [];
  };

  it.each(NAMES)('sends its own headers, and no %s of the caller in their place or besides', async (name) => {
    for (const written of new Set(spellings(name))) {
      const reached = await send(written, EVIL, written, EVIL);
      expect([written, reached.filter((each) => each.includes(EVIL))]).toEqual([written, []]);
      expect(reached.filter((each) => /^mcp.param.api.key$/i.test(each))).toHaveLength(1);
      expect(reached.filter((each) => each.includes(SECRET)).length).toBeGreaterThan(1);
    }
  });

  it('does not send the Authorization of its caller', async () => {
    const reached = await send('authorization', `Basic ${EVIL}`);
    const values = reached.filter((_, at) => reached[at - 1]?.toLowerCase() === 'authorization');
    expect(values).toEqual([expect.stringMatching(/^Bearer (?:canary|svsess_)/)]);
    expect(JSON.stringify(reached)).not.toContain(EVIL);
  });

  it('sends its own headers also where Connection names them', async () => {
    const reached = await send('connection', 'close, authorization, mcp-param-api-key, user-agent, cookie');
    const names = reached.map((each) => each.toLowerCase());
    for (const name of ['authorization', 'mcp-param-api-key', 'user-agent']) expect(names).toContain(name);
  });

  it('makes no trailer of its caller a header or a trailer', async () => {
    const { hostname, port, host } = new URL(owner.running.url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST ${PROXY} HTTP/1.1\r\nhost: ${host}\r\nx-mcp-key: ${proxy.key}\r\nconnection: close\r\n` +
        'transfer-encoding: chunked\r\ntrailer: authorization, mcp-param-api-key\r\n\r\n' +
        `2\r\n{}\r\n0\r\nauthorization: Bearer ${EVIL}\r\nmcp-param-api-key: ${EVIL}\r\n\r\n`,
    );
    const [received] = (await once(socket, 'data')) as [Buffer];
    expect(String(received)).toMatch(/^HTTP\/1.1 200 /);
    expect(JSON.stringify(seen)).not.toContain(EVIL);
    expect(seen).toMatchObject([{ trailers: [] }]);
    socket.destroy();
  });

  it('redirects nobody to another origin with the proxy key', async () => {
    answer = (_req, res) => res.writeHead(307, { location: `${elsewhere.url}/taken` }).end('moved');
    // As a client that follows redirects and keeps its own headers, as most do with `x-mcp-key`.
    const headers = { 'x-mcp-key': proxy.key };
    const followed = await fetch(owner.running.url + PROXY, { method: 'POST', headers, body: '{}' });
    expect([followed.status, await followed.json()]).toMatchObject([502, { code: 'UPSTREAM_REDIRECT' }]);
    expect([seen.length, taken, followed.headers.has('location')]).toEqual([1, [], false]);
  });

  it('redirects to the upstream’s own URL by way of the proxy', async () => {
    answer = (_req, res) => res.writeHead(307, { location: '/mcp#part' }).end('moved');
    const { status, headers } = await proxy.send('tools/call');
    expect([status, headers.get('location'), seen.length]).toEqual([307, baseUrl + PROXY, 1]);
  });

  it.each([401, 407])(
    'starts no sign-in by a %i of the upstream, whose body may be endless',
    async (status) => {
      const challenge = `Bearer resource_metadata="${elsewhere.url}"`;
      const fields = { 'www-authenticate': challenge, 'proxy-authenticate': challenge };
      answer = (_req, res) => void res.writeHead(status, fields).write('words of the upstream');
      const refused = await proxy.send('tools/call');
      expect(codeOf(refused)).toEqual([502, 'UPSTREAM_UNAUTHORIZED']);
      expect(refused.json.error).toMatch(words);
      expect(refused.text).not.toContain('words of the upstream');
      for (const name of Object.keys(fields)) expect(refused.headers.has(name)).toBe(false);
      // No client fetched the URL of the challenge.
      expect(taken).toEqual([]);
    },
  );

  it('denies the stream of an upstream that speaks the HTTP+SSE transport', async () => {
    answer = (_req, res) =>
      void res.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: endpoint\ndata: /m\n\n');
    const refused = await proxy.call('GET', { headers: { accept: 'text/event-stream' } });
    expect(codeOf(refused)).toEqual([502, 'UPSTREAM_UNSUPPORTED']);
  });

  // To the upstream two proxies of one credential are one caller.
  describe('and a session of its upstream', () => {
    /** Sessions that the upstream began, and those that it was asked in. */
    let begun: Set<string>;
    let used: string[];
    let id: string;
    beforeEach(async () => {
      [begun, used] = [new Set(), []];
      answer = (req, res) => {
        const asked = req.headers['mcp-session-id'];
        const its = typeof asked === 'string' ? asked : randomUUID();
        if (typeof asked === 'string') used.push(asked);
        else begun.add(its);
        res.writeHead(begun.has(its) ? 200 : 404, { 'Mcp-Session-Id': its }).end('{}');
      };
      id = (await proxy.send('initialize')).headers.get('mcp-session-id') ?? '';
    });
    const inSession = (by: TestProxy, method = 'POST', shown = id): Promise<Answer> =>
      by.call(method, {
        headers: { 'MCP-Session-ID': shown },
        ...(method === 'POST' && { body: message('tools/call', {}, 1) }),
      });
    const NOT_FOUND = [404, 'SESSION_NOT_FOUND'];

    it('keeps one id by every method, and the upstream sees its own id', async () => {
      for (const method of ['POST', 'GET', 'DELETE']) {
        const { status, headers } = await inSession(proxy, method);
        expect([status, headers.get('mcp-session-id')]).toEqual([200, id]);
      }
      expect(used).toEqual(Array.from({ length: 3 }, () => [...begun][0]));
    });

    it('rejects the sessions of another proxy and the upstream’s own ids, by every method, as denials', async () => {
      const other = await proxyOn(owner, settings[kind]);
      for (const method of ['POST', 'GET', 'DELETE', 'OPTIONS']) {
        expect(codeOf(await inSession(other, method))).toEqual(NOT_FOUND);
        expect(codeOf(await inSession(proxy, method, [...begun][0]))).toEqual(NOT_FOUND);
      }
      expect(used).toEqual([]);
      expect((await inSession(proxy)).status).toBe(200);
      const events = await service.state.rows<{ outcome: string; detail: string }>(
        `SELECT outcome, detail FROM audit_events WHERE proxy_id = '${other.id}' AND event_type = 'PROXY_CREDENTIAL_USE'`,
      );
      const denied = { outcome: 'denied', detail: '{"code":"SESSION_NOT_FOUND"}' };
      expect(events).toEqual([denied, denied, denied, denied]);
    });

    it('ends it when the proxy gets another upstream, which never sees its id', async () => {
      const body = { upstreamUrl: elsewhere.url };
      await service.admin('PATCH', `/api/proxies/${proxy.id}`, { body });
      expect(codeOf(await inSession(proxy))).toEqual(NOT_FOUND);
      expect([used, taken]).toEqual([[], []]);
      await service.admin('PATCH', `/api/proxies/${proxy.id}`, { body: { upstreamUrl: upstream.url } });
    });
  });
});
