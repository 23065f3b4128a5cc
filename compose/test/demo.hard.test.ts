import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { programEnv } from '@svault/test-kit/program-env';
import { afterEach, beforeEach, expect, test } from 'vitest';

const DEMO = fileURLToPath(new URL('../src/demo.ts', import.meta.url));
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svault-test-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const startDemo = (...words: readonly string[]) =>
  spawn(process.execPath, [DEMO, ...words], {
    cwd: folder,
    env: programEnv({ TMPDIR: folder }),
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, as a terminal makes one, to which Ctrl-C goes.
    detached: true,
  });

/** What each step must have come to, in their order. */
const STEPS = [
  ['Start the control plane and the webhook', /control plane http:.*, webhook http:/],
  [
    'Store one credential of every type',
    /PlainText.*JWT.*Certificate.*SSHKey.*RawCredential.*TOTP.*AWS STS.*GitHub App/,
  ],
  ['Store one that is sealed', /payroll, for key [\w-]{43}/],
  ['Make an agent', /agt_/],
  ['Ask for a credential without a grant', /404 NO_GRANT/],
  ['Grant it for too short and for too long', /422 INVALID_ARGUMENT/],
  ['Grant the agent all of them', /9 grants/],
  ['Fetch each by REST', /8 credentials delivered/],
  ['Fetch the first by MCP', /github delivered; the tool's result held no credential/],
  ['Fetch the sealed one', /403 DELIVERY_NOT_ALLOWED[^]*by no other/],
  ['Call an MCP server through a proxy', /prx_.*not the proxy's key/],
  ['Read a stream through it', /text\/event-stream: the first event was there/],
  ['Send a session of the agent', /svsess_.*active, for agt_.*nowhere else/],
  ["Revoke the first proxy's key", /403 INVALID_KEY/],
  ['Use one ticket twice', /200, the second 401/],
  ['Attach a policy that allows two an hour', /200, 200, then 429 POLICY_DENIED; 200/],
  ['Suspend the agent', /403 AGENT_INACTIVE/],
  ['Revoke one grant', /404 NO_GRANT/],
  ['Lock the vault', /423 VAULT_LOCKED/],
  ['Read what was written down', /VAULT_UNLOCKED[^]*GRANT_REVOKED/],
  ['Check both logs', /control plane.* intact[^]*webhook.*whole/],
  ['Take the webhook offline', /nothing is delivered/],
] as const;

test('every step of the demo succeeds, and nothing is left behind', { timeout: 90_000 }, async () => {
  const child = startDemo();
  const [out, err, [code]] = await Promise.all([
    child.stdout.setEncoding('utf8').toArray(),
    child.stderr.setEncoding('utf8').toArray(),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  const told = out.join('');
  expect({ code, err: err.join(''), told }).toMatchObject({ code: 0, err: '' });
  const steps = told.split(/^ ?\d+\. /m).slice(1);
  expect(steps).toHaveLength(STEPS.length);
  for (const [index, [title, result]] of STEPS.entries()) {
    expect(steps[index]).toContain(title);
    expect(steps[index]).toMatch(result);
  }
  expect(told).toMatch(/Every step did what it should\.\n.*: npm run demo -- --keep\n$/);
  expect(readdirSync(folder)).toEqual([]);
});

test('with --keep it stays up with a filled account, signs its owner in, and ends cleanly at Ctrl-C', async () => {
  const child = startDemo('--keep');
  const closed = once(child, 'close') as Promise<[number | null]>;
  let err = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  let told = '';
  for await (const text of child.stdout.setEncoding('utf8')) {
    told += String(text);
    if (told.includes('Ctrl-C stops')) break;
  }
  expect(told + err).toContain('Ctrl-C stops');
  const { origin, searchParams } = new URL(/http\S+\/login\/link\?token=\S+/.exec(told)?.[0] ?? '');
  const signedIn = await fetch(`${origin}/api/login/link`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: searchParams.get('token') }),
  });
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
  const overview = (await (await fetch(`${origin}/api/overview`, { headers: { cookie } })).json()) as object;
  expect(overview).toMatchObject({
    agents: { active: 6, suspended: 1 },
    tokens: 17,
    policies: 5,
    webhook: { bound: true, online: true },
    vault: { locked: false },
  });
  process.kill(-(child.pid ?? 0), 'SIGINT');
  expect(await closed).toEqual([0, null]);
  expect([err, readdirSync(folder)]).toEqual(['', []]);
});

test('a word that it does not know is answered with its usage', async () => {
  const child = startDemo('--kept');
  const [err, [code]] = await Promise.all([
    child.stderr.setEncoding('utf8').toArray(),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  expect([code, err.join('')]).toEqual([2, expect.stringMatching(/^Usage: npm run demo .*\n.* --keep /)]);
});
