import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Answer } from '../support/management-service.ts';
import { storeOn } from '../support/pair-agents.ts';
import { type PairedService, startPairedService } from '../support/paired-service.ts';
import { type PlainUpstream, startPlainUpstream } from '../proxy-clients/plain-upstream.ts';
import { type TestProxy, codeOf, message, proxyOn, sessionSettings } from '../support/proxy-steps.ts';

// A session of an upstream is good for the proxy that began it. Two proxies of one credential are one caller to the upstream.

let service: PairedService;
let upstream: PlainUpstream;
let moved: PlainUpstream;
/** Sessions that the upstream began, and those that it was asked in. */
let begun: Set<string>;
let used: string[];
let settings: Readonly<Record<string, object>>;
let owner: Parameters<typeof proxyOn>[0];

beforeAll(async () => {
  const start = () =>
    startPlainUpstream((req, res) => {
      req.resume();
      const asked = req.headers['mcp-session-id'];
      if (typeof asked === 'string') {
        used.push(asked);
        res.writeHead(begun.has(asked) ? 200 : 404, { 'mcp-session-id': asked }).end('{}');
        return;
      }
      const id = randomUUID();
      begun.add(id);
      res.writeHead(200, { 'Mcp-Session-Id': id }).end('{}');
    });
  [upstream, moved, service] = [await start(), await start(), await startPairedService()];
  owner = { running: { url: service.pair.controlPlaneUrl() }, admin: service.admin };
  const allowedHosts = [upstream.origin, moved.origin];
  await storeOn(service.pair, 'github', {
    tokenType: 'PlainText',
    value: 'a-shared-credential',
    allowedHosts,
  });
  const { id } = await service.agent();
  settings = { Token: { upstreamUrl: upstream.url }, sv_session: sessionSettings(id, upstream.url) };
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
  await moved.close();
});
beforeEach(() => {
  service.clock.advance(60_000);
  [begun, used] = [new Set(), []];
});

const begin = async (proxy: TestProxy): Promise<string> => {
  const { headers } = await proxy.send('initialize');
  return headers.get('mcp-session-id') ?? '';
};
const inSession = (proxy: TestProxy, id: string, method = 'POST'): Promise<Answer> =>
  proxy.call(method, {
    headers: { 'MCP-Session-ID': id },
    ...(method === 'POST' && { body: message('tools/call', {}, 1) }),
  });

describe.each(['Token', 'sv_session'])('a session of a %s proxy', (kind) => {
  it('goes on by every method under one id, and the upstream sees its own id', async () => {
    const proxy = await proxyOn(owner, settings[kind]);
    const id = await begin(proxy);
    for (const method of ['POST', 'GET', 'DELETE']) {
      const { status, headers } = await inSession(proxy, id, method);
      expect([status, headers.get('mcp-session-id')]).toEqual([200, id]);
    }
    expect(used).toEqual(Array.from({ length: 3 }, () => [...begun][0]));
  });

  it('is 404 SESSION_NOT_FOUND for another proxy of the same credential, by every method', async () => {
    const [proxy, other] = [await proxyOn(owner, settings[kind]), await proxyOn(owner, settings[kind])];
    const id = await begin(proxy);
    for (const method of ['POST', 'GET', 'DELETE', 'OPTIONS'])
      expect(codeOf(await inSession(other, id, method))).toEqual([404, 'SESSION_NOT_FOUND']);
    expect(used).toEqual([]);
    expect((await inSession(proxy, id)).status).toBe(200);
  });

  it.each([
    ['the upstream’s own id', ([id]: readonly string[]) => id],
    ['its id with another mark', ([id]: readonly string[]) => `${id}.AAAAAAAAAAAAAAAAAAAAAA`],
    ['its id with an empty mark', ([id]: readonly string[]) => `${id}.`],
    ['a mark alone', () => '.AAAAAAAAAAAAAAAAAAAAAA'],
  ])('is not found by %s', async (_what, shown) => {
    const proxy = await proxyOn(owner, settings[kind]);
    await begin(proxy);
    expect(codeOf(await inSession(proxy, shown([...begun]) ?? ''))).toEqual([404, 'SESSION_NOT_FOUND']);
    expect(used).toEqual([]);
  });

  it('ends when the proxy gets another upstream, which never sees its id', async () => {
    const proxy = await proxyOn(owner, settings[kind]);
    const id = await begin(proxy);
    await service.admin('PATCH', `/api/proxies/${proxy.id}`, { body: { upstreamUrl: moved.url } });
    expect(codeOf(await inSession(proxy, id))).toEqual([404, 'SESSION_NOT_FOUND']);
    expect(used).toEqual([]);
  });

  it('that is named twice is rejected', async () => {
    const proxy = await proxyOn(owner, settings[kind]);
    const id = await begin(proxy);
    const twice = [id, id].join(', ');
    expect(codeOf(await inSession(proxy, twice))).toEqual([404, 'SESSION_NOT_FOUND']);
  });
});

it('a rejected session is logged as a denial and not as a use', async () => {
  const proxy = await proxyOn(owner, settings['Token']);
  await inSession(proxy, 'somebody-elses');
  const events = await service.state.rows<{ outcome: string; detail: string }>(
    `SELECT outcome, detail FROM audit_events WHERE event_type = 'PROXY_CREDENTIAL_USE' AND proxy_id = '${proxy.id}'`,
  );
  expect(events.map(({ outcome, detail }) => [outcome, JSON.parse(detail).code])).toEqual([
    ['denied', 'SESSION_NOT_FOUND'],
  ]);
});
