import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { programEnv } from '@svault/test-kit/program-env';
import { afterEach, expect, test } from 'vitest';

const DEMO = fileURLToPath(new URL('../src/demo.ts', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'svault-test-'));
afterEach(() => rmSync(folder, { recursive: true }));

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
  const child = spawn(process.execPath, [DEMO], {
    cwd: folder,
    env: programEnv({ TMPDIR: folder }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
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
  expect(told).toMatch(/Every step did what it should\.\n$/);
  expect(readdirSync(folder)).toEqual([]);
});
