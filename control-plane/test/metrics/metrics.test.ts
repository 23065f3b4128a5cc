import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { formatTime } from '@svault/shared';
import type { ProgramName } from '@svault/test-kit/pair';
import { type TokenEndpoint, startTokenEndpoint } from '@svault/test-kit/token-endpoint';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { type PlainUpstream, startPlainUpstream } from '../proxy-clients/plain-upstream.ts';
import { type Exposition, scrape } from '../support/exposition.ts';
import { clientOf } from '../support/management-service.ts';
import { type PairAgent, agentOn, grant, storeOn, take } from '../support/pair-agents.ts';
import { type PairedService, startPairedService } from '../support/paired-service.ts';
import { type TestProxy, proxyOn } from '../support/proxy-steps.ts';

const PROGRAMS = ['control-plane', 'webhook'] as const;
const ROOT = new URL('../../../', import.meta.url);
/** Generated from what the programs declare. */
const PAGE = readFileSync(new URL('docs/reference/metrics.md', ROOT), 'utf8');
/** Longer than the scheduler looks ahead. */
const TEN_HOURS_MS = 36_000_000;
const PROVIDER = { clientId: 'a client', clientSecret: 'canary of a client' };

let service: PairedService;
let upstream: PlainUpstream;
let provider: TokenEndpoint;
let agent: PairAgent;
let proxy: TestProxy;
/** What the upstream says. */
let answered = 200;
let expositions: Record<ProgramName, Exposition>;

beforeAll(async () => {
  upstream = await startPlainUpstream((req, res) => {
    req.resume();
    res.writeHead(answered).write('{');
    if (req.url?.endsWith('/endless') !== true) res.end('}');
  });
  provider = await startTokenEndpoint();
  service = await startPairedService({ env: { SV_METRICS_LISTEN: '127.0.0.1:0' } });
  await useEverything();
  // The background work begins after the start.
  do expositions = await scrapeBoth();
  while (!isAtWork(expositions['control-plane']));
});
afterAll(async () => {
  await service.stop();
  await provider.close();
  await upstream.close();
});

const isAtWork = ({ names, sum }: Exposition): boolean =>
  sum(/^svault_leader/) === 1 && names.has('svault_task_last_success_timestamp_seconds');

const scrapeBoth = async (): Promise<Record<ProgramName, Exposition>> => ({
  'control-plane': await scrape(service.pair, 'control-plane'),
  webhook: await scrape(service.pair, 'webhook'),
});

/** One of each: an access, a ticket used twice, a denial, a proxied call, a refresh, a forged request. */
async function useEverything(): Promise<void> {
  const { pair, admin } = service;
  await storeOn(pair, 'github', {
    ...{ tokenType: 'PlainText', value: 'canary-of-the-injected-credential' },
    allowedHosts: [upstream.origin],
    allowedHeaders: ['authorization'],
  });
  agent = await agentOn(pair, 'github');
  const location = (await agent.ask('github')).headers.get('location') ?? '';
  await take(pair, location);
  expect((await take(pair, location)).status).toBe(401);
  expect((await agent.ask('nothing')).status).toBe(404);
  await clientOf(pair.controlPlaneUrl())('GET', '/api/agents/credentials');

  const owner = { running: { url: pair.controlPlaneUrl() }, admin };
  proxy = await proxyOn(owner, { kind: 'http', upstreamUrl: upstream.url });
  const headers = { authorization: `Bearer ${proxy.key}` };
  expect((await clientOf(pair.controlPlaneUrl(), headers)('GET', '/api/proxy/http/things')).status).toBe(200);

  provider.register({ id: PROVIDER.clientId, method: 'client_secret_basic', secret: PROVIDER.clientSecret });
  await storeOn(pair, 'calendar', {
    ...{ tokenType: 'JWT', ...provider.grant(PROVIDER.clientId) },
    expiryTime: formatTime(pair.clock.now() + TEN_HOURS_MS),
    provider: { ...PROVIDER, tokenUrl: provider.url },
  });
  await grant(pair, agent.id, { serviceName: 'calendar' });
  expect((await admin('POST', '/api/tokens/calendar/refresh')).status).toBe(200);
  await clientOf(pair.bypassingRecorder(pair.webhookUrl))('POST', '/v1/storage', { body: {} });
}

/** Metrics of PostgreSQL's connections, or of SQLite's file: the other database has none. */
const isOfOtherDatabase = (name: string): boolean =>
  service.pair.databaseUrl.startsWith('postgres')
    ? name === 'svault_database_bytes'
    : name.startsWith('svault_database_connection');

interface Documented {
  readonly type: string;
  /** By label. */
  readonly values: ReadonlyMap<string, readonly string[]>;
}

/** A program's lines of the reference, by the name of the metric. */
function documented(program: ProgramName): ReadonlyMap<string, Documented> {
  const [, section = ''] = PAGE.split(`<!-- generated: metrics ${program} -->`);
  const [rows = ''] = section.split('<!-- /generated -->');
  return new Map(
    [...rows.matchAll(/^\| `(\w+)` \| (\w+) \| .* \| (.*) \|$/gm)].map(
      ([, name = '', type = '', labels = '']) => [
        name,
        {
          type,
          values: new Map(
            [...labels.matchAll(/`(\w+)`: ((?:`[^`]+`(?:, )?)+)/g)].map(([, label = '', values = '']) => [
              label,
              [...values.matchAll(/`([^`]+)`/g)].map(([, value = '']) => value),
            ]),
          ),
        },
      ],
    ),
  );
}

describe.each(PROGRAMS)('the metrics of the %s', (program) => {
  test('are those of the reference, and each has a series', () => {
    const { text, names } = expositions[program];
    const expected = documented(program);
    const shown = [...text.matchAll(/^# TYPE (svault_\w+) (\w+)$/gm)].map(
      ([, name, type]) => [name, type] as const,
    );
    expect(new Map(shown)).toEqual(new Map([...expected].map(([name, { type }]) => [name, type])));
    const missing = [...expected]
      .map(([name, { type }]) => (type === 'histogram' ? `${name}_count` : name))
      .filter((name) => !names.has(name) && !(program === 'control-plane' && isOfOtherDatabase(name)));
    expect(missing).toEqual([]);
  });

  test('have commits, and their writes', () => {
    const commits = expositions[program].sum(/^svault_commit_seconds_count$/);
    expect(commits).toBeGreaterThan(0);
    expect(expositions[program].sum(/^svault_commit_writes_sum$/)).toBeGreaterThanOrEqual(commits);
  });

  test('follow the conventions of Prometheus', () => {
    // It fails with the findings in its output.
    const found = execFileSync('promtool', ['check', 'metrics'], {
      input: expositions[program].text,
      encoding: 'utf8',
    });
    expect(found).toBe('');
  });

  test('have only labels and values of the reference', () => {
    const unknown: string[] = [];
    for (const [name, { values }] of documented(program)) {
      const ofIt = new RegExp(`^${name}(?:_bucket|_sum|_count)?(?:\\{(.*)\\})?$`);
      for (const series of expositions[program].series)
        for (const [, label = '', value = ''] of (ofIt.exec(series)?.[1] ?? '').matchAll(/(\w+)="([^"]*)"/g))
          if (label !== 'le' && values.get(label)?.includes(value) !== true) unknown.push(series);
    }
    expect(unknown).toEqual([]);
  });
});

describe('the metrics of the control plane', () => {
  it.each([
    ['an allowed access', /^svault_access_decisions_total\{.*channel="rest",outcome="allowed"/, 1],
    ['a denial by its code', /^svault_access_decisions_total\{channel="rest",outcome="NO_GRANT"/, 1],
    ['a call through a proxy', /^svault_access_decisions_total\{channel="proxy",outcome="allowed"/, 1],
    ['the response without a key', /^svault_responses_total\{endpoint="credentials",status="401"/, 1],
    ['the response of an HTTP API', /^svault_responses_total\{endpoint="proxy_http",status="200"/, 1],
    ['a refresh', /^svault_refreshes_total\{reason="manual"/, 1],
    [
      'the call of the proxy at the webhook',
      /^svault_webhook_call_seconds_count\{.*endpoint="\/v1\/proxy",outcome="answered"/,
      1,
    ],
    ['what a limit let through', /^svault_limiter_decisions_total\{scope="proxy_mcp",verdict="admitted"/, 1],
    ['that it is ready', /^svault_ready/, 1],
    ['that it leads', /^svault_leader/, 1],
  ])('count %s', (_, pattern, expected) => {
    expect(expositions['control-plane'].sum(pattern)).toBe(expected);
  });

  it.each(['lookup', 'limits', 'policies', 'commit', 'ticket'])('time the stage %s', (stage) => {
    const pattern = new RegExp(`^svault_access_stage_seconds_count\\{stage="${stage}"`);
    expect(expositions['control-plane'].sum(pattern)).toBeGreaterThan(0);
  });
});

describe('what is open', () => {
  const opened = async (path: string, key: string) =>
    fetch(service.pair.controlPlaneUrl() + path, { headers: { authorization: `Bearer ${key}` } });
  const now = async (name: string): Promise<number> =>
    (await scrape(service.pair, 'control-plane')).sum(new RegExp(`^${name}$`));

  it.each([
    [
      'a client that follows the log',
      'svault_event_streams',
      () => opened('/api/events', service.pair.adminKey),
    ],
    ['an exchange of a proxy', 'svault_proxy_streams', () => opened('/api/proxy/http/endless', proxy.key)],
  ])('counts %s until it ends', async (_, name, open) => {
    expect(await now(name)).toBe(0);
    const response = await open();
    expect([response.status, await now(name)]).toEqual([200, 1]);
    await response.body?.cancel();
    await expect.poll(() => now(name)).toBe(0);
  });
});

test('connections to PostgreSQL are counted by pool', () => {
  const held = expositions['control-plane'].sum(/^svault_database_connections\{/);
  if (service.pair.databaseUrl.startsWith('postgres')) expect(held).toBeGreaterThan(1);
  else expect(held).toBe(0);
});

describe('the metrics of the webhook', () => {
  it.each([
    ['deliveries', /^svault_webhook_responses_total\{endpoint="\/v1\/credential",status="200"/, 1],
    ['a ticket that was used twice', /^svault_webhook_refused_tickets_total\{reason="replayed"/, 1],
    [
      'a request without a signature',
      /^svault_webhook_refused_requests_total\{reason="signature_input_missing"/,
      1,
    ],
    ['calls of upstreams', /^svault_webhook_upstream_seconds_count\{outcome="answered"/, 1],
    ['refreshes at the provider', /^svault_webhook_refreshes_total\{.*outcome="refreshed"/, 1],
    ['that it is bound', /^svault_webhook_bound/, 1],
    ['that it is ready', /^svault_ready/, 1],
  ])('count %s', (_, pattern, expected) => {
    expect(expositions['webhook'].sum(pattern)).toBe(expected);
  });
});

describe('what a client chooses', () => {
  /** The same attempts with other names in each round. */
  const attack = async (mark: string, status: number): Promise<void> => {
    const { pair } = service;
    answered = status;
    const programs = [pair.controlPlaneUrl(), pair.bypassingRecorder(pair.webhookUrl)];
    const paths = [`/${mark}`, `/api/${mark}`, `/v1/${mark}`, `/api/agents/${mark}`, `/login/${mark}`];
    const below = [
      `/approvals/${mark}`,
      `/api/proxy/http/${mark}`,
      `/%2e%2e/${mark}`,
      `/v1/credential?ticket=${mark}`,
    ];
    for (const url of programs)
      for (const path of [...paths, ...below])
        for (const method of ['GET', 'POST'])
          await clientOf(url, { 'x-agent-key': mark, 'user-agent': mark })(method, path);
    await agent.ask(mark);
    await clientOf(pair.controlPlaneUrl(), { authorization: `Bearer ${proxy.key}` })(
      'GET',
      `/api/proxy/http/${mark}`,
    );
    const forged = { 'signature-input': `${mark}=("@method")`, signature: `${mark}=:AA==:` };
    await clientOf(pair.bypassingRecorder(pair.webhookUrl), forged)('POST', '/v1/storage', {
      body: { op: mark },
    });
  };
  /** Others begin by themselves: Node's with the garbage collector, those of background jobs with their first run. */
  const isOfClients = (name: string): boolean => !/^(nodejs_|svault_task_)/.test(name);
  const seriesNow = async (): Promise<readonly string[]> => {
    const now = await scrapeBoth();
    return PROGRAMS.flatMap((program) =>
      [...now[program].series].filter(isOfClients).map((one) => `${program} ${one}`),
    ).toSorted();
  };

  it('adds no series, and is in none', async () => {
    await attack('first-of-the-names', 298);
    const before = await seriesNow();
    await attack('second-of-the-names', 299);
    expect(await seriesNow()).toEqual(before);
    expect(before.filter((one) => one.includes('of-the-names'))).toEqual([]);
    expect(before.length).toBeLessThan(2_500);
  });
});

test('keys, ids, secrets and names are in no metric', async () => {
  const texts = Object.values(await scrapeBoth()).map(({ text }) => text);
  const secrets = [agent.apiKey, proxy.key, agent.id, proxy.id, 'canary', 'calendar'];
  expect(secrets.filter((secret) => texts.some((text) => text.includes(secret)))).toEqual([]);
});

test('the rules, the dashboard and the pages name only metrics that one of the programs has', () => {
  const paths = ['compose/monitoring/alerts.yaml', 'compose/monitoring/dashboard.json'];
  const pages = ['docs/operate/monitoring.md', 'docs/operate/runbook.md'];
  const texts = [...paths, ...pages].map((path) => readFileSync(new URL(path, ROOT), 'utf8'));
  // `svault_default` is a network of containers.
  const used = new Set(texts.join('\n').match(/\b(?:svault_(?!default)|nodejs_|process_)[a-z0-9_]+/g));
  const known = new Set(
    PROGRAMS.flatMap((program) => [...expositions[program].names, ...documented(program).keys()]),
  );
  expect(used.size).toBeGreaterThan(40);
  expect([...used].filter((name) => !known.has(name) && !isOfOtherDatabase(name))).toEqual([]);
});
