import { once } from 'node:events';
import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { run } from '@svault/test-kit/run-program';
import { tempDir } from '@svault/test-kit/temp-dir';
import { randomToken } from '@svault/shared';
import { type PlainUpstream, startPlainUpstream } from './proxy-clients/plain-upstream.ts';
import { type Collector, startCollector } from './support/collector.ts';
import { httpProxyOn } from './support/http-proxy-steps.ts';
import { clientOf } from './support/management-service.ts';
import { agentOn, pathFor, storeOn } from './support/pair-agents.ts';
import { type PairedService, startPairedService } from './support/paired-service.ts';

// Traces that are off or sampled, and collectors that fail.

const COLLECTOR_KEY = 'canary-of-a-collector-key';
let upstream: PlainUpstream;
let seen: (string | undefined)[];

beforeAll(async () => {
  upstream = await startPlainUpstream((req, res) => {
    seen.push(req.headers['traceparent']?.toString());
    res.writeHead(200).end();
  });
});
afterAll(() => upstream.close());

interface Traced {
  readonly service: PairedService;
  /** Fetches a credential by REST with a trace that the caller has sampled. @returns its id */
  fetchOne(): Promise<string>;
  /** Calls the upstream by an HTTP proxy with that header. */
  callUpstream(traceparent?: string): Promise<number>;
  /** Stops both programs, which exports what they have. */
  stop(): Promise<void>;
}

async function startTraced(env: Readonly<Record<string, string>>): Promise<Traced> {
  seen = [];
  const service = await startPairedService({ logLevel: 'info', env });
  const { pair, admin } = service;
  await storeOn(pair, 'github', {
    ...{ tokenType: 'PlainText', value: 'a credential of 80 bits at least' },
    allowedHosts: [upstream.origin],
  });
  const agent = await agentOn(pair, 'github');
  const owner = { running: { url: pair.controlPlaneUrl() }, admin };
  const proxy = await httpProxyOn(owner, { upstreamUrl: upstream.origin });
  return {
    service,
    fetchOne: async () => {
      const traceId = randomBytes(16).toString('hex');
      const headers = { authorization: `Bearer ${agent.apiKey}`, traceparent: parentIn(traceId) };
      const asked = await clientOf(pair.controlPlaneUrl(), headers)('GET', pathFor('github'));
      const url = pair.bypassingRecorder(asked.headers.get('location') ?? expect.fail(asked.text));
      const { status } = await clientOf(url, { traceparent: parentIn(traceId) })('GET', '');
      expect(status).toBe(200);
      return traceId;
    },
    callUpstream: async (traceparent) => {
      const key = { authorization: `Bearer ${proxy.key}` };
      const headers = traceparent === undefined ? key : { ...key, traceparent };
      return (await proxy.ask('/', { headers })).status;
    },
    stop: async () => {
      await pair.stop('control-plane');
      await pair.stop('webhook');
    },
  };
}

const parentIn = (traceId: string): string => `00-${traceId}-${'1'.repeat(16)}-01`;

it('without a collector no header is added, and an agent’s own reaches the upstream unchanged', async () => {
  const { service, callUpstream, fetchOne, stop } = await startTraced({});
  const own = parentIn('a'.repeat(32));
  await fetchOne();
  expect(await callUpstream()).toBe(200);
  expect(service.pair.recorded().includes('traceparent')).toBe(false);
  expect(await callUpstream(own)).toBe(200);
  expect(seen).toEqual([undefined, own]);
  await stop();
  await service.stop();
});

it('a caller cannot have more traced than the ratio, and none is added to what is not traced', async () => {
  const collector = await startCollector();
  const { service, callUpstream, fetchOne, stop } = await startTraced({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_TRACES_SAMPLER_ARG: '0',
  });
  const own = parentIn('0'.repeat(31) + '1');
  await fetchOne();
  await callUpstream(own);
  await callUpstream();
  await service.anyone('GET', '/nothing-here', { headers: { traceparent: own } });
  await stop();
  expect(seen).toEqual([own, undefined]);
  expect(collector.requests).toEqual([]);
  await Promise.all([service.stop(), collector.close()]);
});

it('both programs choose the same requests, so that each trace is whole', async () => {
  const collector = await startCollector();
  const { service, fetchOne, stop } = await startTraced({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_TRACES_SAMPLER_ARG: '0.5',
  });
  const ids: string[] = [];
  for (let n = 0; n < 32; n++) ids.push(await fetchOne());
  await stop();
  const programsOf = (id: string): string[] =>
    collector
      .spans()
      .filter(({ traceId }) => traceId === id)
      .map(({ program }) => program)
      .toSorted();
  const counted = new Set(ids.map((id) => programsOf(id).join()));
  expect([...counted].toSorted()).toEqual(['', 'svault-control-plane,svault-webhook']);
  await Promise.all([service.stop(), collector.close()]);
});

it.each([
  ['0.000000001', ['svault-control-plane', 'svault-webhook']],
  ['0', ['svault-control-plane']],
])(
  'with the ratio %s at the webhook a call that the control plane signs is traced by %j, and a stranger’s by nobody',
  async (ratio, programs) => {
    const collector = await startCollector();
    const { service, stop } = await startTraced({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    const { pair, admin } = service;
    await pair.stop('webhook');
    await pair.start('webhook', { OTEL_TRACES_SAMPLER_ARG: ratio });
    const traceId = randomBytes(16).toString('hex');
    const headers = { traceparent: parentIn(traceId) };
    expect((await admin('GET', '/api/tokens/github', { headers })).status).toBe(200);
    const stranger = clientOf(pair.bypassingRecorder(pair.webhookUrl), headers);
    expect((await stranger('POST', '/v1/storage', { body: {} })).status).toBe(401);
    await stop();
    const traced = collector.spans().filter((span) => span.traceId === traceId && span.kind === 'server');
    expect(traced.map(({ program }) => program).toSorted()).toEqual(programs);
    await Promise.all([service.stop(), collector.close()]);
  },
);

/** Collectors that take no span, by what they do. */
const FAILING: Readonly<Record<string, (res: ServerResponse) => void>> = {
  'never answers': () => undefined,
  'breaks the connection': (res) => void res.destroy(),
  'answers what is no HTTP': (res) => void res.socket?.end('no http\r\n\r\n'),
  'answers 500 with much': (res) => void res.writeHead(500).end('x'.repeat(100_000)),
  'answers 401 with the key': (res) => void res.writeHead(401).end(COLLECTOR_KEY),
};

it.each(Object.entries(FAILING))(
  'with a collector that %s requests succeed, the programs stop, and the log says it once without a key',
  async (_what, answer) => {
    const collector = await startCollector(answer);
    await runOn(collector.url, collector);
    expect(collector.requests.length).toBeGreaterThan(0);
    await collector.close();
  },
);

it('with no collector at its address requests succeed, the programs stop, and the log says it once', async () => {
  await runOn(`http://127.0.0.1:${await freePort()}`);
});

it('a redirect of the collector is not followed, so that no other host gets its key', async () => {
  const other = await startCollector();
  const collector = await startCollector(
    (res) => void res.writeHead(307, { location: `${other.url}/v1/traces` }).end(),
  );
  await runOn(collector.url, collector);
  expect(other.requests).toEqual([]);
  await Promise.all([collector.close(), other.close()]);
});

async function runOn(endpoint: string, collector?: Collector): Promise<void> {
  const { service, fetchOne, callUpstream, stop } = await startTraced({
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_EXPORTER_OTLP_HEADERS: `x-collector-key=${COLLECTOR_KEY}`,
  });
  await fetchOne();
  expect(await callUpstream()).toBe(200);
  await stop();
  for (const program of ['control-plane', 'webhook'] as const) {
    const log = service.pair.logOf(program);
    expect(log.split('spans cannot be exported')).toHaveLength(2);
    expect(log).not.toContain(COLLECTOR_KEY);
  }
  for (const { headers } of collector?.requests ?? []) expect(headers['x-collector-key']).toBe(COLLECTOR_KEY);
  await service.stop();
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Starts and stops a webhook, and writes which modules of OpenTelemetry were loaded. */
const LOADED = `
  import { registerHooks } from 'node:module';
  const loaded = [];
  registerHooks({
    load: (url, context, next) => {
      if (url.includes('opentelemetry') || url.includes('otlp-')) loaded.push(url);
      return next(url, context);
    },
  });
  const { webhookConfig } = await import('@svault/webhook/config');
  const { startWebhook } = await import('@svault/webhook/serve');
  const running = await startWebhook(webhookConfig(process.env));
  await (await fetch(running.url + '/healthz')).text();
  await running.close();
  process.stdout.write('\\nloaded ' + loaded.length);
`;

it('OpenTelemetry is loaded only where a collector is set', async () => {
  const dir = tempDir();
  const env = {
    SV_WEBHOOK_URL: 'https://hook.example.org',
    SV_WEBHOOK_SERVICE_URL: 'https://service.example.org',
    SV_WEBHOOK_LISTEN: '127.0.0.1:0',
    SV_WEBHOOK_MASTER_KEY: randomToken(32),
    SV_WEBHOOK_DATA_DIR: dir.path,
  };
  const command = [process.execPath, '--input-type=module', '--eval', LOADED];
  const cwd = import.meta.dirname;
  const off = await run(command, { cwd, env });
  expect(off.stdout, off.stderr).toMatch(/loaded 0$/);
  const on = await run(command, { cwd, env: { ...env, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' } });
  expect(on.stdout, on.stderr).toMatch(/loaded [1-9]\d*$/);
  dir.remove();
});
