/**
 * R13: the service's 307 followed by programs that nobody here wrote. The envelope arrives; a key that a client carries
 * over to the webhook is ignored there, written nowhere, and counted.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { randomToken } from '@svault/shared';
import { type TestPair, startPair } from '@svault/test-kit/pair';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { CLIENTS, type Elsewhere, type Headers, built, isInstalled } from '../support/redirecting-clients.ts';

const SECRET = `the secret of ${randomToken()}`;
const SERVICE_NAME = 'github';

const KEY_FORMS: readonly (readonly [string, (key: string) => Headers])[] = [
  ['Authorization', (key) => ({ authorization: `Bearer ${key}` })],
  ['x-agent-key', (key) => ({ 'x-agent-key': key })],
  [
    'both, and a key of the other fixture',
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
  const stored = await fetch(pair.bypassingRecorder(named.store.url), {
    method: 'POST',
    headers: { authorization: `Bearer ${named.store.ticket}`, 'content-type': 'application/json' },
    body: JSON.stringify({ tokenType: 'PlainText', value: SECRET }),
  });
  expect(stored.status).toBe(200);
  const made = await pair.admin.call<{ agent: { id: string }; apiKey: string }>('POST', '/api/agents', {
    name: 'a',
  });
  await pair.admin.call('POST', `/api/agents/${made.agent.id}/grants`, {
    allowMissing: true,
    serviceName: SERVICE_NAME,
  });
  key = made.apiKey;
});
afterAll(() => pair.close());

const ELSEWHERE: readonly Elsewhere[] = ['another port', 'another host'];

/** An address of the control plane from which the redirect to the webhook leads elsewhere. */
function credentialsAddress(elsewhere: Elsewhere): string {
  const url = new URL(`/api/agents/credentials?service=${SERVICE_NAME}`, pair.controlPlaneUrl());
  if (elsewhere === 'another host') url.hostname = 'localhost';
  return url.href;
}

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

describe.each(CLIENTS)('$name', (client) => {
  const missing = !isInstalled(client);
  if (missing)
    process.stderr.write(`\nNOT TESTED: the redirect by ${client.name}, which is not installed here\n\n`);
  let folder = '';
  // A compiler's first run on a machine compiles its library too.
  beforeAll(() => {
    if (!missing) folder = built(client);
  }, 300_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** Runs the client; each key header that arrived at the webhook, with how often. */
  async function follow(from: Elsewhere, headers: Headers): Promise<Record<string, number>> {
    const [before, wireBefore] = [await counted(), pair.recorded().length];
    const [program = '', ...args] = client.command(credentialsAddress(from), headers, folder);
    const { code, stdout, stderr } = await run(program, args);
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toMatchObject({ token: { accessToken: SECRET, serviceName: SERVICE_NAME } });

    const shown = arrived(pair.recorded().subarray(wireBefore).toString('latin1'));
    const after = await counted();
    const grown = Object.keys(after).map((name) => [name, (after[name] ?? 0) - (before[name] ?? 0)] as const);
    expect(Object.fromEntries(grown.filter(([, growth]) => growth > 0))).toEqual(shown);
    return shown;
  }

  test.skipIf(missing).each(KEY_FORMS)(
    'follows with the key in %s, and the webhook counts each key that it is shown',
    async (_form, headers) => void (await follow('another port', headers(key))),
  );

  test.skipIf(missing)(
    'takes x-agent-key along to another host, as docs/security.md says of all clients',
    async () => {
      expect(await follow('another host', { 'x-agent-key': key })).toEqual({ 'x-agent-key': 1 });
    },
  );

  const { keepsAuthorization } = client;
  test.skipIf(missing || keepsAuthorization === 'by release').each(ELSEWHERE)(
    'takes Authorization along to %s only as docs/security.md says',
    async (elsewhere) => {
      const shown = await follow(elsewhere, { authorization: `Bearer ${key}` });
      expect('authorization' in shown).toBe(keepsAuthorization.includes(elsewhere));
    },
  );
});

test('without a redirect to follow, no client has a key to take along', async () => {
  const wireBefore = pair.recorded().length;
  const headers = { authorization: `Bearer ${key}`, 'x-agent-key': key, accept: 'application/json' };
  const asked = await fetch(credentialsAddress('another port'), { headers });
  const { url } = (await asked.json()) as { url: string };
  expect(await (await fetch(url)).json()).toMatchObject({ token: { accessToken: SECRET } });
  expect(arrived(pair.recorded().subarray(wireBefore).toString('latin1'))).toEqual({});
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
    const answer = await fetch(pair.bypassingRecorder(`${pair.webhookUrl}/v1/credential`), {
      headers: headers(key),
    });
    expect([answer.status, await answer.text()]).toEqual([401, expect.not.stringContaining(SECRET)]);
  }
});
