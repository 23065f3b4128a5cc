import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { HeaderPairs, Id } from '@svault/shared';
import type { AnswerHead } from '@svault/shared/egress';
import { describe, expect, it, vi } from 'vitest';
import type { ProxyUse } from '../access/decision.ts';
import type { ForwardRefusal, ProxyExchange } from './exchange.ts';
import { createUpstreamResponse } from './upstream-response.ts';

const PROXY_URL = 'https://vault.example/api/proxy/mcp';
const ids = { vaultId: 'vlt_1' as Id<'vlt'>, proxyId: 'prx_1' as Id<'prx'> };
const upstreamUrl = 'https://mcp.example.com/mcp';
const origin = { requestId: 'req_1' };
const SESSION: ProxyUse = {
  ...ids,
  origin,
  kind: 'session',
  proxy: { ...ids, agentId: 'agt_1' as Id<'agt'>, upstreamUrl },
  headerTemplates: {},
};
const webhookUse = (serviceName: string): ProxyUse => ({
  ...ids,
  origin,
  kind: 'webhook',
  webhook: { webhookId: 'whk_1', url: 'https://w.example', keyId: 'k1', keyWrapped: '' },
  config: { ...ids, serviceName, upstreamUrl, headerTemplates: {}, revision: 1, deliveredAs: null },
  credentialRejected: 0,
});

/** Sends an answer of the upstream. @returns what the caller gets, the body as long as the stream lasts */
function respond(
  head: AnswerHead,
  { method = 'POST', fields = [], use = SESSION }: Partial<ProxyExchange> & { use?: ProxyUse } = {},
) {
  const exchange = { method, fields, body: Buffer.alloc(0), signal: new AbortController().signal };
  const [sent, body] = [[] as AnswerHead[], new PassThrough()];
  body.on('error', () => undefined);
  const response = createUpstreamResponse(
    { ...exchange, durable: Promise.resolve(), recheck: async () => undefined },
    use,
    {
      proxyUrl: PROXY_URL,
      send: (each) => (sent.push(each), body),
    },
  );
  const stream = response.take(head);
  return { stream, sent, body, refusal: (): ForwardRefusal | undefined => response.refusal() };
}
const redirect = (status: number, ...locations: readonly string[]) =>
  respond({ status, fields: locations.map((location) => ['location', location] as const) });

describe('a redirect', () => {
  it.each([300, 301, 302, 303, 305, 307, 308, 399])(
    'with status %i to another origin is UPSTREAM_REDIRECT, which names no more than the origin',
    (status) => {
      const { sent, refusal } = redirect(status, 'https://user@elsewhere.example:8443/taken?secret=x');
      expect([sent, refusal()]).toMatchObject([[], { status: 502, code: 'UPSTREAM_REDIRECT' }]);
      expect(refusal()?.error).toContain('https://elsewhere.example:8443,');
      expect(refusal()?.error).not.toMatch(/taken|secret|user@/);
    },
  );

  it.each([
    ['//elsewhere.example/x', /another origin/],
    ['\\\\elsewhere.example\\x', /another origin/],
    ['https://mcp.example.com@elsewhere.example/mcp', /another origin/],
    ['http://mcp.example.com/mcp', /another origin/],
    ['https://mcp.example.com:8443/mcp', /another origin/],
    ['javascript:alert(1)', /another origin, javascript:/],
    ['https://[x', /malformed/],
    ['/mcp/', /its address with a trailing slash.*upstreamUrl/],
    ['/other?tenant=of-the-query', /another address on its host.*upstreamUrl/],
  ])('to %j is denied with its reason', (location, words) => {
    const { sent, refusal } = redirect(307, location);
    expect([sent, refusal()?.code]).toEqual([[], 'UPSTREAM_REDIRECT']);
    expect(refusal()?.error).toMatch(words);
    expect(refusal()?.error).not.toContain('of-the-query');
  });

  it('with two Locations is denied', () => {
    expect(redirect(307, '/mcp', '/mcp').refusal()?.error).toMatch(/malformed/);
  });

  it.each([upstreamUrl, '/mcp', '/mcp#part', '/x/../%6dcp/../mcp'])(
    'to %j, which is its own URL, leads to the proxy',
    (location) => {
      expect(redirect(307, location).sent).toEqual([{ status: 307, fields: [['location', PROXY_URL]] }]);
    },
  );
});

it.each<readonly [number, HeaderPairs]>([
  [201, [['location', 'https://x']]],
  [304, [['location', 'https://x']]],
  [300, []],
  [403, [['content-location', 'https://x']]],
  [200, [['link', '<https://x>; rel=next']]],
])('status %i is forwarded without the addresses %j', (status, addresses) => {
  const { sent, refusal } = respond({ status, fields: [...addresses, ['etag', '"x"']] });
  expect([sent, refusal()]).toEqual([[{ status, fields: [['etag', '"x"']] }], undefined]);
});

it.each([
  [401, webhookUse('github'), /answered 401.*the credential "github".*svault set github$/],
  [401, webhookUse('a "b"'), /svault set "a \\"b\\""$/],
  [407, webhookUse('github'), /answered 407/],
  [401, SESSION, /the session of the agent.*svsess_/],
])('status %i is UPSTREAM_UNAUTHORIZED and says whose key the upstream rejects', (status, use, words) => {
  const { sent, stream, refusal } = respond({ status, fields: [] }, { use });
  expect([sent, refusal()]).toMatchObject([[], { status: 502, code: 'UPSTREAM_UNAUTHORIZED' }]);
  expect(refusal()?.error).toMatch(words);
  // Its body may have no end.
  expect(stream.destroyed).toBe(true);
});

describe('an event stream', () => {
  const HEAD: AnswerHead = { status: 200, fields: [['content-type', 'text/event-stream; charset=utf-8']] };
  const events = (request: Parameters<typeof respond>[1] = {}, head = HEAD) =>
    respond(head, { method: 'GET', ...request });

  it.each([
    ['at once', ['event: endpoint\ndata: /messages?sessionId=1\n\n']],
    ['with other line ends', ['event:endpoint\r\ndata: /messages\r\n\r\n']],
    [
      'after a byte order mark, a comment and a retry time',
      ['\ufeff: hello\n\nretry: 5\n\n', 'event: endpoint\n'],
    ],
    ['letter by letter', 'event: endpoint\rdata: /m\r\r'.split('')],
    ['after its data', ['data: /messages\nevent: endpoint\n\n']],
  ])('is UPSTREAM_UNSUPPORTED where it begins with an endpoint event, %s', async (_how, pieces) => {
    const { stream, sent, refusal } = events();
    for (const piece of pieces) stream.write(piece);
    await vi.waitFor(() => expect(refusal()?.code).toBe('UPSTREAM_UNSUPPORTED'));
    expect(refusal()?.error).toMatch(/HTTP\+SSE transport of MCP revision 2024-11-05.*upstreamUrl/);
    expect([sent, stream.destroyed]).toEqual([[], true]);
  });

  it.each([
    ['another event', 'event: message\ndata: 1\n\n'],
    ['data', 'data: endpoint\n\n'],
    ['more than is read', `: ${'x'.repeat(5_000)}\n\nevent: endpoint\n\n`],
    ['its end', ': bye\n\n'],
  ])('is forwarded whole where it begins with %s', async (_what, first) => {
    const { stream, body } = events();
    stream.write(first);
    const later = first === ': bye\n\n' ? '' : 'event: endpoint\ndata: not the first\n\n';
    stream.end(later);
    expect(await text(body)).toBe(first + later);
  });

  it('has its head before its first event, and breaks off where that is a late endpoint event', async () => {
    const { stream, sent, body, refusal } = events();
    await vi.waitFor(() => expect(sent).toHaveLength(1), { timeout: 20_000 });
    stream.write('event: endpoint\ndata: /messages\n\n');
    await vi.waitFor(() => expect(body.destroyed).toBe(true));
    expect(refusal()).toBeUndefined();
  });

  it.each<[string, ReturnType<typeof events>]>([
    [
      'of a client that has negotiated a revision',
      events({ fields: [['Mcp-Protocol-Version', '2025-11-25']] }),
    ],
    ['of a session', events({ fields: [['mcp-session-id', 's']] })],
    ['that begins a session', events({}, { ...HEAD, fields: [...HEAD.fields, ['mcp-session-id', 's']] })],
    ['that answers a POST', events({ method: 'POST' })],
    ['of another media type', events({}, { ...HEAD, fields: [['content-type', 'text/event-streams']] })],
  ])('%s is not delayed', (_what, { sent }) => {
    expect(sent).toHaveLength(1);
  });
});
