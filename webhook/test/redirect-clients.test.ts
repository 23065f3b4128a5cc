/**
 * R13: the service's 307 followed by programs that nobody here wrote. The envelope arrives; a key that a client carries
 * over to the webhook is ignored there, written nowhere, and counted.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { randomToken } from '@svault/shared';
import { type TestPair, startPair } from '@svault/test-kit/pair';
import { tracesOf } from '@svault/test-kit/secret-forms';

const SECRET = `the secret of ${randomToken()}`;
const SERVICE_NAME = 'github';

const NODE = `
  const answer = await fetch(process.argv[1], { headers: JSON.parse(process.argv[2]) });
  process.stdout.write(await answer.text());`;
const PYTHON = `
import json, sys, urllib.request
request = urllib.request.Request(sys.argv[1], headers=json.loads(sys.argv[2]))
sys.stdout.write(urllib.request.urlopen(request).read().decode())`;

type Headers = Readonly<Record<string, string>>;
const lines = (headers: Headers): readonly string[] =>
  Object.entries(headers).map(([name, value]) => `${name}: ${value}`);

const CLIENTS: readonly {
  readonly name: string;
  readonly program: string;
  args(url: string, headers: Headers): readonly string[];
}[] = [
  {
    name: 'curl -L',
    program: 'curl',
    args: (url, headers) => ['-q', '-sSL', ...lines(headers).flatMap((line) => ['-H', line]), url],
  },
  {
    name: 'wget',
    program: 'wget',
    args: (url, headers) => ['--no-config', '-qO-', ...lines(headers).map((line) => `--header=${line}`), url],
  },
  {
    name: 'fetch of Node',
    program: process.execPath,
    args: (url, headers) => ['--input-type=module', '-e', NODE, url, JSON.stringify(headers)],
  },
  {
    name: 'urllib of Python',
    program: 'python3',
    args: (url, headers) => ['-c', PYTHON, url, JSON.stringify(headers)],
  },
];
const KEY_FORMS: readonly (readonly [string, (key: string) => Headers])[] = [
  ['Authorization', (key) => ({ authorization: `Bearer ${key}` })],
  ['x-agent-key', (key) => ({ 'x-agent-key': key })],
  [
    'both, and a key of the other door',
    (key) => ({ authorization: `Bearer ${key}`, 'x-agent-key': key, 'x-mcp-key': key }),
  ],
];

let pair: TestPair;
let key: string;

beforeAll(async () => {
  pair = await startPair({ env: { SV_METRICS_LISTEN: '127.0.0.1:0' }, logLevel: 'trace' });
  const named = await pair.admin.call<{ store: { url: string; ticket: string } }>('POST', '/api/tokens', {
    serviceName: SERVICE_NAME,
    tokenType: 'PlainText',
  });
  const stored = await fetch(pair.aroundTheTap(named.store.url), {
    method: 'POST',
    headers: { authorization: `Bearer ${named.store.ticket}`, 'content-type': 'application/json' },
    body: JSON.stringify({ tokenType: 'PlainText', value: SECRET }),
  });
  expect(stored.status).toBe(200);
  const made = await pair.admin.call<{ agent: { id: string }; apiKey: string }>('POST', '/api/agents', {
    name: 'a',
  });
  await pair.admin.call('POST', `/api/agents/${made.agent.id}/grants`, { serviceName: SERVICE_NAME });
  key = made.apiKey;
});
afterAll(() => pair.close());

/** Runs a client without the machine's proxies and settings; what it wrote to stdout. */
async function run(
  program: string,
  args: readonly string[],
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const { PATH, HOME } = process.env;
  const child = spawn(program, args, {
    env: { PATH, HOME, NO_PROXY: '*' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err, [code]] = await Promise.all([
    child.stdout.setEncoding('utf8').toArray(),
    child.stderr.setEncoding('utf8').toArray(),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  return { code, stdout: out.join(''), stderr: err.join('') };
}

/** How many keys the webhook says it was shown, by header. */
async function counted(): Promise<Record<string, number>> {
  const text = await (await fetch(`${pair.metricsUrl('webhook')}/metrics`)).text();
  const rows = text.matchAll(/^svault_webhook_stray_credentials_total\{header="([^"]+)"[^}]*\} (\d+)$/gm);
  return Object.fromEntries([...rows].map(([, header, count]) => [header, Number(count)]));
}

/** How often each header arrived with the key, by what the wire carried. */
function arrived(wire: string): Record<string, number> {
  const found: Record<string, number> = {};
  for (const [, name = ''] of wire.matchAll(
    /^(authorization|x-agent-key|x-mcp-key): (?:Bearer )?svagent_/gim,
  )) {
    const header = name.toLowerCase();
    found[header] = (found[header] ?? 0) + 1;
  }
  return found;
}

describe.each(CLIENTS)('$name', ({ program, args }) => {
  const missing = spawnSync(program, ['--version']).error !== undefined;
  if (missing)
    process.stderr.write(`\nNOT TESTED: the redirect by ${program}, which is not installed here\n\n`);

  test.skipIf(missing).each(KEY_FORMS)('follows with the key in %s', async (_form, headers) => {
    const [before, wireBefore] = [await counted(), pair.recorded().length];
    const url = `${pair.controlPlaneUrl()}/api/agents/credentials?service=${SERVICE_NAME}`;
    const { code, stdout, stderr } = await run(program, args(url, headers(key)));
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toMatchObject({ token: { accessToken: SECRET, serviceName: SERVICE_NAME } });

    const wire = pair.recorded().subarray(wireBefore).toString('latin1');
    const after = await counted();
    const grown = Object.keys(after).map((name) => [name, (after[name] ?? 0) - (before[name] ?? 0)] as const);
    expect(Object.fromEntries(grown.filter(([, growth]) => growth > 0))).toEqual(arrived(wire));
  });
});

test('a key that is shown to the webhook is written nowhere', async () => {
  const url = `${pair.controlPlaneUrl()}/api/agents/credentials?service=${SERVICE_NAME}`;
  expect((await fetch(url, { headers: { 'x-agent-key': key } })).status).toBe(200);
  expect(Object.keys(arrived(pair.recorded().toString('latin1')))).toContain('x-agent-key');
  for (const program of ['control-plane', 'webhook'] as const)
    expect(tracesOf(key, Buffer.from(pair.logOf(program)))).toEqual([]);
  const dir = join(pair.dir, 'webhook');
  const files = Buffer.concat(readdirSync(dir).map((name) => readFileSync(join(dir, name))));
  expect([tracesOf(key, files), tracesOf(SECRET, files)]).toEqual([[], []]);
});

test('a key alone opens nothing at the webhook', async () => {
  for (const [, headers] of KEY_FORMS) {
    const answer = await fetch(pair.aroundTheTap(`${pair.webhookUrl}/v1/credential`), {
      headers: headers(key),
    });
    expect([answer.status, await answer.text()]).toEqual([401, expect.not.stringContaining(SECRET)]);
  }
});
