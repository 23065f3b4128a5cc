import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { storeOn } from '../support/pair-agents.ts';
import { type PairedService, startPairedService } from '../support/paired-service.ts';
import { type PlainUpstream, startPlainUpstream } from '../proxy-clients/plain-upstream.ts';
import { PROXY, type TestProxy, proxyOn, sessionSettings } from '../support/proxy-steps.ts';

// Class "caller's header overriding the injected one": by way of the webhook, and directly with a session.

const SECRET = 'canary-of-the-injected-credential';
const EVIL = 'chosen-by-the-caller';
let service: PairedService;
let upstream: PlainUpstream;
let url: string;
let proxies: Readonly<Record<string, TestProxy>>;
/** Raw names and values of the last request, and its trailers. */
let seen: { raw: readonly string[]; trailers: readonly string[] };

beforeAll(async () => {
  upstream = await startPlainUpstream((req, res) => {
    req.resume().on('end', () => {
      seen = { raw: req.rawHeaders, trailers: req.rawTrailers };
      res.end('{}');
    });
  });
  service = await startPairedService();
  url = service.pair.controlPlaneUrl();
  const owner = { running: { url }, admin: service.admin };
  await storeOn(service.pair, 'github', {
    tokenType: 'PlainText',
    value: SECRET,
    allowedHosts: [upstream.origin],
    allowedHeaders: ['authorization', 'mcp-param-api-key', 'user-agent', 'cookie'],
  });
  const headerTemplates = {
    Authorization: 'Bearer ${TOKEN}',
    'Mcp-Param-Api-Key': '${TOKEN}',
    'User-Agent': 'agent/${TOKEN}',
    cookie: 'session=${TOKEN}',
  };
  const { id } = await service.agent();
  const fixed = { 'Mcp-Param-Api-Key': SECRET, 'User-Agent': `agent/${SECRET}` };
  proxies = {
    Token: await proxyOn(owner, { upstreamUrl: upstream.url, headerTemplates }),
    sv_session: await proxyOn(owner, {
      ...sessionSettings(id, upstream.url),
      headerTemplates: fixed,
    }),
  };
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
});
beforeEach(() => {
  service.clock.advance(60_000);
  seen = { raw: [], trailers: [] };
});

const send = async (kind: string, fields: readonly string[]): Promise<void> => {
  const { host } = new URL(url);
  const headers = ['host', host, 'x-mcp-key', proxies[kind]?.key ?? '', ...fields];
  const sent = request(url + PROXY, { method: 'POST', headers, agent: false }).end('{}');
  const [res] = (await once(sent, 'response')) as [IncomingMessage];
  res.resume();
  expect(res.statusCode).toBe(200);
};

const NAMES = [
  ...['Authorization', 'Proxy-Authorization', 'Cookie', 'Cookie2', 'User-Agent', 'X-Api-Key', 'Api-Key'],
  ...['Mcp-Param-Api-Key', 'X-Forwarded-For', 'X-Forwarded-Host', 'X-Forwarded-Proto', 'X-Forwarded-User'],
  ...['Forwarded', 'X-Real-Ip', 'X-Original-Url', 'X-Rewrite-Url', 'X-Http-Method-Override', 'Via', 'From'],
];
const SPELLINGS: Readonly<Record<string, (name: string) => string>> = {
  'as it is': (name) => name,
  'in small letters': (name) => name.toLowerCase(),
  'in capitals': (name) => name.toUpperCase(),
  'with underscores': (name) => name.replaceAll('-', '_'),
  // The prefix of headers that travel stays, so that it would travel.
  'with its last hyphen an underscore': (name) => name.replace(/-(?=[^-]*$)/, '_'),
};

describe.each(['Token', 'sv_session'])('the headers of a caller of a %s proxy', (kind) => {
  it.each(Object.keys(SPELLINGS))(
    'no header %s reaches the upstream in the place of ours or beside it',
    async (how) => {
      for (const name of NAMES) {
        const written = SPELLINGS[how]?.(name) ?? name;
        if (/^authorization$/i.test(written)) continue;
        await send(kind, [written, EVIL, written, EVIL]);
        expect([written, seen.raw.filter((each) => each.includes(EVIL))]).toEqual([written, []]);
        expect(seen.raw.filter((each) => /^mcp.param.api.key$/i.test(each))).toHaveLength(1);
        expect(seen.raw.filter((each) => each.includes(SECRET)).length).toBeGreaterThan(1);
      }
    },
  );

  it('do not bring its Authorization to the upstream', async () => {
    await send(kind, ['authorization', `Basic ${EVIL}`]);
    const values = seen.raw.filter((_, at) => seen.raw[at - 1]?.toLowerCase() === 'authorization');
    expect(values).toEqual([expect.stringMatching(/^Bearer (?:canary|svsess_)/)]);
    expect(JSON.stringify(seen.raw)).not.toContain(EVIL);
  });

  it('do not remove those of the proxy by Connection', async () => {
    await send(kind, ['connection', 'close, authorization, mcp-param-api-key, user-agent, cookie']);
    const names = seen.raw.map((each) => each.toLowerCase());
    for (const name of ['authorization', 'mcp-param-api-key', 'user-agent']) expect(names).toContain(name);
  });

  it('have no trailer that becomes a header or a trailer', async () => {
    const { hostname, port, host } = new URL(url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST ${PROXY} HTTP/1.1\r\nhost: ${host}\r\nx-mcp-key: ${proxies[kind]?.key}\r\nconnection: close\r\n` +
        'transfer-encoding: chunked\r\ntrailer: authorization, mcp-param-api-key\r\n\r\n' +
        `2\r\n{}\r\n0\r\nauthorization: Bearer ${EVIL}\r\nmcp-param-api-key: ${EVIL}\r\n\r\n`,
    );
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(String(answer)).toMatch(/^HTTP\/1.1 200 /);
    expect(JSON.stringify(seen)).not.toContain(EVIL);
    expect(seen.trailers).toEqual([]);
    socket.destroy();
  });
});
