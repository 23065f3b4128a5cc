import type { IncomingMessage } from 'node:http';
import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { formatTime } from '@svault/shared';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { type TokenEndpoint, startTokenEndpoint } from '@svault/test-kit/token-endpoint';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type PlainUpstream, startPlainUpstream } from './proxy-clients/plain-upstream.ts';
import { type Collector, type ExportedSpan, startCollector } from './support/collector.ts';
import { type HttpProxy, httpProxyOn } from './support/http-proxy-steps.ts';
import { clientOf } from './support/management-service.ts';
import { mcpAgentOn, mcpClientOf } from './support/mcp-steps.ts';
import { pathFor, storeOn } from './support/pair-agents.ts';
import { type PairedService, startPairedService } from './support/paired-service.ts';
import { type TestProxy, message, proxyOn } from './support/proxy-steps.ts';

// Every request is made before the first test: both programs then stop, which exports what they have traced.

const SECRET = 'canary/of a traced credential: 100%';
const QUERY = 'canary-of-a-query-0123456789';
const COLLECTOR_KEY = 'canary-of-a-collector-key';
const CONTROL_PLANE = 'svault-control-plane';
const WEBHOOK = 'svault-webhook';

/** A span of a caller of ours. */
interface CallerSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceparent: string;
}
function callerSpan(flags = '01'): CallerSpan {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
  return { traceId, spanId, traceparent: `00-${traceId}-${spanId}-${flags}` };
}

const CALLERS = {
  rest: callerSpan(),
  refresh: callerSpan(),
  tool: callerSpan(),
  mcpProxy: callerSpan(),
  mcpMeta: callerSpan(),
  httpProxy: callerSpan(),
  management: callerSpan(),
  denied: callerSpan(),
  unsampled: callerSpan('00'),
};
const HOSTILE = {
  'bad hex': `00-${'g'.repeat(32)}-${'1'.repeat(16)}-01`,
  'capital letters': `00-${'A'.repeat(32)}-${'1'.repeat(16)}-01`,
  'an id of zeroes': `00-${'0'.repeat(32)}-${'1'.repeat(16)}-01`,
  'version ff': `ff-${'1'.repeat(32)}-${'1'.repeat(16)}-01`,
  'more behind it': `00-${'2'.repeat(32)}-${'1'.repeat(16)}-01-${'x'.repeat(300)}`,
  'a later version that is too long': `01-${'3'.repeat(32)}-${'1'.repeat(16)}-01-${'x'.repeat(300)}`,
  'two in one': `00-${'4'.repeat(32)}-${'1'.repeat(16)}-01, 00-${'5'.repeat(32)}-${'1'.repeat(16)}-01`,
};

type Seen = Pick<IncomingMessage, 'headers' | 'url'> & { readonly body: string };

let collector: Collector;
let service: PairedService;
let upstream: PlainUpstream;
let provider: TokenEndpoint;
let agent: { readonly id: string; readonly apiKey: string };
let proxy: TestProxy;
let httpProxy: HttpProxy;
let spans: readonly ExportedSpan[];
const seen = new Map<string, Seen>();
const secrets: string[] = [SECRET, QUERY, COLLECTOR_KEY];

beforeAll(async () => {
  upstream = await startPlainUpstream(async (req, res) => {
    const { headers, url } = req;
    seen.set(String(headers['user-agent']), { headers, url, body: (await buffer(req)).toString() });
    res.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}');
  });
  [collector, provider] = await Promise.all([startCollector(), startTokenEndpoint()]);
  service = await startPairedService({
    logLevel: 'trace',
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: `x-collector-key=${COLLECTOR_KEY}`,
    },
  });
  const { pair } = service;
  const owner = { running: { url: pair.controlPlaneUrl() }, admin: service.admin };
  await storeOn(pair, 'github', {
    tokenType: 'PlainText',
    value: SECRET,
    allowedHosts: [upstream.origin],
  });
  await storeExpired();
  agent = await mcpAgentOn(service, 'github', 'expired');
  proxy = await proxyOn(owner, { upstreamUrl: upstream.url });
  httpProxy = await httpProxyOn(owner, { upstreamUrl: upstream.origin });
  secrets.push(agent.apiKey, proxy.key, httpProxy.key, pair.adminKey, pair.setupToken);
  await makeRequests();
  await pair.stop('control-plane');
  await pair.stop('webhook');
  spans = collector.spans();
});
afterAll(async () => {
  await service.stop();
  await Promise.all([upstream.close(), provider.close(), collector.close()]);
});

/** The webhook refreshes it before it delivers it. */
async function storeExpired(): Promise<void> {
  provider.register({ id: 'client', method: 'none' });
  const { accessToken, refreshToken } = provider.grant('client');
  secrets.push(accessToken, refreshToken);
  await storeOn(service.pair, 'expired', {
    ...{ tokenType: 'JWT', accessToken, refreshToken },
    expiryTime: formatTime(service.clock.now() - 1_000),
    provider: { tokenUrl: provider.url, clientId: 'client', authMethod: 'none' },
  });
}

async function makeRequests(): Promise<void> {
  const { traceparent } = CALLERS.denied;
  await fetchCredential('github', CALLERS.rest);
  await fetchCredential('expired', CALLERS.refresh);
  await callTool(CALLERS.tool);
  const sent = { ...STANDING, 'user-agent': 'mcpProxy', tracestate: 'vendor=1' };
  await proxy.call('POST', {
    rawBody: TOOL_CALL,
    headers: { ...sent, traceparent: CALLERS.mcpProxy.traceparent },
  });
  await proxy.call('POST', { rawBody: META_CALL, headers: { ...STANDING, 'user-agent': 'mcpMeta' } });
  for (const name of ['httpProxy', 'unsampled'] as const)
    await httpProxy.ask(`/repos?key=${QUERY}`, { headers: httpHeaders(name, CALLERS[name].traceparent) });
  await service.admin('GET', '/api/tokens/github', {
    headers: { traceparent: CALLERS.management.traceparent },
  });
  await service.anyone('GET', `${pathFor('github')}&key=${QUERY}`, { headers: { traceparent } });
  for (const [name, hostile] of Object.entries(HOSTILE))
    await httpProxy.ask('/hostile', { headers: httpHeaders(name, hostile) });
  const long = `vendor=${'x'.repeat(600)}`;
  const malformed = { ...httpHeaders('malformed state', callerSpan().traceparent), tracestate: 'no equals' };
  await httpProxy.ask('/state', { headers: malformed });
  const overlong = { ...httpHeaders('overlong state', callerSpan().traceparent), tracestate: long };
  await httpProxy.ask('/state', { headers: overlong });
}

const STANDING = { 'content-type': 'application/json', accept: 'application/json' };
const TOOL_CALL = JSON.stringify(message('tools/call', { name: 'search' }, 1));
const META_CALL = JSON.stringify(
  message('tools/call', { name: 'search', _meta: { traceparent: CALLERS.mcpMeta.traceparent } }, 1),
  undefined,
  2,
);
const httpHeaders = (userAgent: string, traceparent: string): Record<string, string> => ({
  ...{ authorization: `Bearer ${httpProxy.key}`, 'user-agent': userAgent, traceparent },
});

/** As an agent whose HTTP client adds its trace to each request that it makes, the one that follows a redirect included. */
async function fetchCredential(serviceName: string, { traceparent }: CallerSpan): Promise<void> {
  const { pair } = service;
  const headers = { authorization: `Bearer ${agent.apiKey}`, traceparent };
  const asked = await clientOf(pair.controlPlaneUrl(), headers)('GET', pathFor(serviceName));
  await take(asked.headers.get('location') ?? '', traceparent);
}

async function take(url: string, traceparent: string): Promise<void> {
  secrets.push(new URL(url).searchParams.get('ticket') ?? expect.fail(`no ticket in ${url}`));
  const given = await clientOf(service.pair.bypassingRecorder(url), { traceparent })('GET', '');
  expect(given.status, given.text).toBe(200);
}

async function callTool({ traceparent }: CallerSpan): Promise<void> {
  const { json } = await mcpClientOf(service, agent.apiKey).request('2025-11-25', 'tools/call', {
    name: 'get_credential',
    arguments: { service: 'github' },
    _meta: { traceparent },
  });
  await take(json.result.structuredContent.credentialUrl, traceparent);
}

/** The spans of a trace, each as program, kind and name, behind that of its parent. */
function chainsOf({ traceId, spanId }: CallerSpan): string[][] {
  const ofTrace = spans.filter((span) => span.traceId === traceId);
  const below = (parent: string, chain: readonly string[]): string[][] => {
    const children = ofTrace.filter(({ parentSpanId }) => parentSpanId === parent);
    if (children.length === 0) return chain.length === 0 ? [] : [[...chain]];
    return children.flatMap((span) => below(span.spanId, [...chain, nameOf(span)]));
  };
  const chains = below(spanId, []);
  expect(new Set(chains.flat()).size, 'a span hangs in no chain').toBe(ofTrace.length);
  return chains;
}

const nameOf = ({ program, kind, name }: ExportedSpan): string =>
  `${program === CONTROL_PLANE ? 'control plane' : 'webhook'} ${kind}: ${name}`;

const seenBy = (userAgent: string): Seen =>
  seen.get(userAgent) ?? expect.fail(`the upstream saw nothing of ${userAgent}`);

const lastSpanOf = ({ traceId }: CallerSpan): ExportedSpan =>
  spans.findLast((span) => span.traceId === traceId && span.program === WEBHOOK && span.kind === 'client') ??
  expect.fail('no call of the webhook was traced');

const THROUGH_BOTH = (route: string): string[] => [
  `control plane server: POST ${route}`,
  'control plane client: /v1/proxy',
  'webhook server: POST /v1/proxy',
  'webhook client: call',
];

it('a fetch by REST is one trace, whose spans at both programs are children of the agent’s', () => {
  expect(chainsOf(CALLERS.rest)).toEqual([
    ['control plane server: GET /api/agents/credentials'],
    ['webhook server: GET /v1/credential'],
  ]);
});

it('a refresh before a delivery is a call below the span of the delivery, and the provider gets no trace', () => {
  expect(chainsOf(CALLERS.refresh)).toEqual([
    ['control plane server: GET /api/agents/credentials'],
    ['webhook server: GET /v1/credential', 'webhook client: call'],
  ]);
  expect(provider.calls.map(({ headers }) => headers['traceparent'])).toEqual([undefined]);
});

it('a tool’s call continues the trace in params._meta, and its ticket leads to the same one', () => {
  expect(chainsOf(CALLERS.tool)).toEqual([
    ['control plane server: POST /api/agents/mcp'],
    ['webhook server: GET /v1/credential'],
  ]);
});

it('a call of an MCP server is one trace from the agent to the upstream, with the agent’s tracestate', () => {
  expect(chainsOf(CALLERS.mcpProxy)).toEqual([THROUGH_BOTH('/api/proxy/mcp')]);
  const { headers } = seenBy('mcpProxy');
  const { traceId, spanId } = lastSpanOf(CALLERS.mcpProxy);
  expect(headers['traceparent']).toBe(`00-${traceId}-${spanId}-01`);
  expect(headers['tracestate']).toBe('vendor=1');
});

it('a call of an MCP server continues the trace in params._meta where no header has one, and its body is unchanged', () => {
  expect(chainsOf(CALLERS.mcpMeta)).toEqual([THROUGH_BOTH('/api/proxy/mcp')]);
  expect(seenBy('mcpMeta').body).toBe(META_CALL);
});

it('a call of an HTTP API is one trace from the agent to the upstream', () => {
  expect(chainsOf(CALLERS.httpProxy)).toEqual([
    THROUGH_BOTH('/api/proxy/http/{*rest}').map((name) => name.replace('POST /api', 'GET /api')),
  ]);
  const { traceId, spanId } = lastSpanOf(CALLERS.httpProxy);
  expect(seenBy('httpProxy').headers['traceparent']).toBe(`00-${traceId}-${spanId}-01`);
});

it('a management call has its route without the name in it, and its call of the webhook below it', () => {
  expect(chainsOf(CALLERS.management)).toEqual([
    [
      'control plane server: GET /api/tokens/:serviceName',
      'control plane client: /v1/storage',
      'webhook server: POST /v1/storage',
    ],
  ]);
});

it('a denial’s span has its code, its status and the id by which the audit log has the request', () => {
  const [denied, ...others] = spans.filter(({ traceId }) => traceId === CALLERS.denied.traceId);
  expect(others).toEqual([]);
  expect(denied?.attributes).toEqual({
    'http.request.method': 'GET',
    'http.route': '/api/agents/credentials',
    'http.response.status_code': 401,
    'svault.code': 'MISSING_KEY',
    'svault.request_id': expect.stringMatching(/^req_/),
  });
});

it('both programs have the same request id of one access', () => {
  const ids = spans
    .filter(({ traceId, kind }) => traceId === CALLERS.rest.traceId && kind === 'server')
    .map(({ attributes }) => attributes['svault.request_id']);
  expect(ids).toHaveLength(2);
  expect(new Set(ids).size).toBe(1);
});

it('a request that its caller does not sample is not traced, and its headers reach the upstream unchanged', () => {
  expect(spans.filter(({ traceId }) => traceId === CALLERS.unsampled.traceId)).toEqual([]);
  expect(seenBy('unsampled').headers['traceparent']).toBe(CALLERS.unsampled.traceparent);
});

it.each(Object.entries(HOSTILE))('a traceparent with %s begins a new trace', (name, hostile) => {
  const { traceparent } = seenBy(name).headers;
  const [, traceId] = String(traceparent).split('-');
  expect(hostile).not.toContain(traceId);
  const [root] = spans.filter((span) => span.traceId === traceId && span.program === CONTROL_PLANE);
  expect(root?.parentSpanId ?? '').toBe('');
});

it.each(['malformed state', 'overlong state'])('a tracestate in a %s is dropped', (name) => {
  expect(seenBy(name).headers).toMatchObject({ traceparent: expect.any(String) });
  expect(seenBy(name).headers['tracestate']).toBeUndefined();
});

it('no secret, key, ticket or query is in an exported byte', () => {
  const bytes = collector.bytes();
  expect(bytes.includes(CALLERS.rest.traceId)).toBe(true);
  for (const secret of secrets) expect(tracesOf(secret, bytes)).toEqual([]);
});

it('the collector gets the headers of the setting, and no log has them', () => {
  expect(collector.requests.length).toBeGreaterThan(0);
  for (const { path, headers } of collector.requests) {
    expect(path).toBe('/v1/traces');
    expect(headers['x-collector-key']).toBe(COLLECTOR_KEY);
    expect(headers['traceparent']).toBeUndefined();
  }
  for (const program of ['control-plane', 'webhook'] as const)
    expect(tracesOf(COLLECTOR_KEY, Buffer.from(service.pair.logOf(program)))).toEqual([]);
});
