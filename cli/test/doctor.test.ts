import { execFileSync } from 'node:child_process';
import { mkdirSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { freePort } from '@svault/compose/free-port';
import { newKey } from '@svault/shared';
import { makeAgeIdentity } from '@svault/test-kit/age-identity';
import { makeBackupFile } from '@svault/test-kit/backup-file';
import { generate } from 'selfsigned';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type CommandLine, someone } from './command-line.ts';
import { fakeServer, listening } from './fake-servers.ts';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';

let people: PairAndPeople;
beforeAll(async () => {
  const port = await freePort();
  const SV_BASE_URL = `http://127.0.0.1:${port}`;
  people = await pairAndPeople({
    env: { SV_BASE_URL, SV_WEBHOOK_SERVICE_URL: SV_BASE_URL, SV_LISTEN: `127.0.0.1:${port}` },
  });
});
afterAll(() => people.close());

interface Finding {
  readonly check: string;
  readonly state: string;
  readonly found: string;
  readonly remedy?: string;
}

async function findingsOf(
  { svault }: CommandLine,
  ...args: readonly string[]
): Promise<{ readonly code: number; readonly findings: Readonly<Record<string, Finding>> }> {
  const { code, out } = await svault(['doctor', ...args, '--json']);
  const findings = JSON.parse(out) as readonly Finding[];
  return { code, findings: Object.fromEntries(findings.map((each) => [each.check, each])) };
}

const ownerAt = (url: string): CommandLine =>
  someone({ SVAULT_BASE_URL: url, SVAULT_KEY: newKey('svadmin') });

const matching = (text: RegExp): string => expect.stringMatching(text) as string;

test('doctor finds nothing wrong with a pair that works, and says what it looked at', async () => {
  const { code, findings } = await findingsOf(people.admin);
  const states = Object.values(findings).map(({ check, state }) => [check, state]);
  expect({ code, states }).toEqual({
    code: 0,
    states: [
      ['client', 'ok'],
      ['control plane', 'ok'],
      ['clock of control plane', 'ok'],
      ['certificate of control plane', 'skipped'],
      ['API version', 'ok'],
      ['base URL', 'ok'],
      ['login', 'ok'],
      ['vault', 'ok'],
      ['binding', 'ok'],
      ['versions', 'ok'],
      ['webhook', 'ok'],
      ['clock of webhook', 'ok'],
      ['certificate of webhook', 'skipped'],
      ['limits', 'ok'],
      ['backups', 'skipped'],
    ],
  });
});

test('doctor with an agent’s key looks at what an agent may know', async () => {
  const { code, findings } = await findingsOf(await people.agent('patient', 'github'));
  expect({ code, login: findings['login'] }).toMatchObject({
    code: 0,
    login: { found: 'an agent with 1 grants' },
  });
});

test('doctor says of a webhook that is away and of a locked vault what to do: exit 8', async () => {
  const other = await pairAndPeople();
  try {
    await other.admin.svault(['vault', 'lock']);
    await other.pair.stop('webhook');
    const { code, findings } = await findingsOf(other.admin);
    expect(code).toBe(8);
    expect(findings).toMatchObject({
      vault: { state: 'warning', remedy: 'svault vault unlock' },
      binding: {
        state: 'problem',
        remedy: matching(/cannot be reached: .*connection broke.* Check that it runs/),
      },
      webhook: { state: 'problem' },
    });
    const { err } = await other.admin.svault(['doctor']);
    expect(err).toMatch(/^(?:.*\n)?vault: svault vault unlock\n(?:.*\n)*error: 2 problems with .*\n$/);
  } finally {
    await other.close();
  }
});

test('doctor names the settings that differ: SV_BASE_URL, the address used, and what the webhook is bound to', async () => {
  const other = await pairAndPeople();
  try {
    const { pair } = other;
    await pair.stop('control-plane');
    await pair.start('control-plane', { SV_BASE_URL: 'https://svaullt.example.org' });
    const url = pair.controlPlaneUrl();
    const { code, findings } = await findingsOf(someone({ SVAULT_BASE_URL: url, SVAULT_KEY: pair.adminKey }));
    expect(code).toBe(8);
    expect(findings).toMatchObject({
      'base URL': {
        state: 'warning',
        found: `SV_BASE_URL of the control plane is https://svaullt.example.org, and ${url} is used here`,
        remedy: matching(/^set SV_BASE_URL .* set SVAULT_BASE_URL/),
      },
      binding: {
        state: 'problem',
        remedy: matching(
          /takes tickets of http:\/\/127\.0\.0\.1:1, but SV_BASE_URL .*svaullt.*Set SV_BASE_URL to http/,
        ),
      },
    });
  } finally {
    await other.close();
  }
});

test('doctor says of a program whose disk is full that room is needed', async () => {
  const error = 'the disk of the database is full; try again once there is room';
  const body = { error, code: 'UNAVAILABLE', requestId: 'req_1' };
  const { url } = await fakeServer(() => ({ status: 503, body }));
  const { code, findings } = await findingsOf(ownerAt(url));
  expect(code).toBe(8);
  expect(findings['control plane']).toMatchObject({
    state: 'problem',
    found: matching(/is not ready: the disk of the database is full/),
    remedy: matching(/make room/),
  });
});

test('doctor finds a clock that is two minutes ahead', async () => {
  // The time of each answer, however long it takes until it is asked for.
  const { url } = await fakeServer(() => ({
    headers: { date: new Date(Date.now() + 120_000).toUTCString() },
    body: { status: 'ok' },
  }));
  const { code, findings } = await findingsOf(ownerAt(url));
  expect(code).toBe(8);
  expect(findings['clock of control plane']).toMatchObject({
    state: 'problem',
    found: matching(/^it is 1(?:19|20|21) s ahead of this machine$/),
    remedy: matching(/NTP/),
  });
});

test('doctor says of an address where nothing listens, and of one whose certificate does not verify, how to go on', async () => {
  const nobody = await findingsOf(ownerAt('http://127.0.0.1:1'));
  expect(nobody.code).toBe(8);
  expect(nobody.findings['control plane']).toMatchObject({
    state: 'problem',
    found: 'nothing listens at 127.0.0.1:1',
    remedy: matching(/^the control plane does not run on this machine.*npm start/),
  });
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'localhost' }]);
  const url = await listening(createServer({ key, cert }));
  const unknown = await findingsOf(ownerAt(url.replace('http://127.0.0.1', 'https://localhost')));
  expect(unknown.findings['control plane']?.found).toMatch(
    /^the certificate of localhost:\d+ does not verify/,
  );
});

test.each([
  ['ok', 12, 6, /^verifies, and holds until /],
  ['warning', 12, 10, /^it ends in 1 h, /],
  ['ok', 90 * 24, 60 * 24, /^verifies, /],
  ['warning', 90 * 24, 80 * 24, /^it ends in 9 days, /],
])(
  'doctor calls a certificate %s whose lifetime is %i hours and that is %i hours old',
  async (state, lifetime, age, found) => {
    const notBeforeDate = new Date(Date.now() - age * 3_600_000);
    const notAfterDate = new Date(notBeforeDate.getTime() + lifetime * 3_600_000);
    const { private: key, cert } = await generate([{ name: 'commonName', value: 'localhost' }], {
      notBeforeDate,
      notAfterDate,
      extensions: [
        { name: 'basicConstraints', cA: true, critical: true },
        { name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] },
      ],
    });
    const trusted = getCACertificates('default');
    setDefaultCACertificates([...trusted, cert]);
    onTestFinished(() => setDefaultCACertificates(trusted));
    const url = await listening(createServer({ key, cert }, (_req, res) => res.end('{"status":"ok"}')));
    const { findings } = await findingsOf(ownerAt(url.replace('http://127.0.0.1', 'https://localhost')));
    expect(findings['certificate of control plane']).toMatchObject({ state, found: matching(found) });
  },
);

test('doctor looks at the newest backup of each program, and at no other file', async () => {
  const folder = join(people.admin.dir, 'backups');
  const inner = join(folder, 'webhook');
  mkdirSync(inner, { recursive: true });
  const ofBackups = async (...args: readonly string[]) => {
    const { findings } = await findingsOf(people.admin, '--backups', folder, ...args);
    return { 'control-plane': findings['backups of control-plane'], webhook: findings['backups of webhook'] };
  };
  const make = async (program: 'control-plane' | 'webhook', file: string, hours: number): Promise<void> => {
    await makeBackupFile(file, program, new Date(Date.now() - hours * 3_600_000));
  };

  writeFileSync(join(folder, 'readme.txt'), 'new, and no backup');
  await make('control-plane', join(folder, 'first.db'), 25);
  expect(await ofBackups()).toMatchObject({
    'control-plane': { state: 'ok', found: matching(/is 25 h old$/) },
    webhook: { state: 'problem', found: `there is none in ${folder}`, remedy: matching(/backup FILE/) },
  });
  expect(await ofBackups('--backups-of', 'control-plane')).toMatchObject({ webhook: undefined });
  expect(await ofBackups('--max-backup-age', '24')).toMatchObject({ 'control-plane': { state: 'problem' } });

  await make('webhook', join(inner, 'first.db'), 27);
  expect(await ofBackups()).toMatchObject({ webhook: { state: 'problem', found: matching(/is 27 h old$/) } });
  await make('webhook', join(inner, 'second.db'), 1);
  truncateSync(join(folder, 'first.db'), 30);
  expect(await ofBackups()).toMatchObject({
    'control-plane': { state: 'problem' },
    webhook: { state: 'ok', found: matching(/is 1 h old$/) },
  });
  expect(await findingsOf(people.admin, '--backups', join(folder, 'gone'))).toMatchObject({ code: 8 });

  // Encrypted, it says nothing of itself: the path and the time of the file do.
  const { recipient } = makeAgeIdentity(join(people.admin.dir, 'identity'));
  mkdirSync(join(folder, 'control-plane'));
  for (const [name, hours] of Object.entries({ 'second.backup': 3, 'third.backup.partial': 0 })) {
    const file = join(folder, 'control-plane', name);
    execFileSync('age', ['-r', recipient, '-o', file, join(inner, 'second.db')]);
    const madeAt = new Date(Date.now() - hours * 3_600_000);
    utimesSync(file, madeAt, madeAt);
  }
  expect(await ofBackups()).toMatchObject({
    'control-plane': { state: 'ok', found: matching(/is 3 h old$/) },
    webhook: { state: 'ok', found: matching(/is 1 h old$/) },
  });
});

test('doctor and webhook status say what to upgrade first where versions are too far apart', async () => {
  const webhook = { bound: true, reachable: true, controlPlaneVersion: '7.3.0', version: 'svault/7.1.9' };
  const { url } = await fakeServer(({ path }) => ({
    body: path === '/api/webhook' ? webhook : { status: 'ok', email: 'owner@example.org', role: 'admin' },
  }));
  const owner = ownerAt(url);
  const { findings } = await findingsOf(owner);
  expect(findings['versions']).toMatchObject({
    state: 'warning',
    found: matching(/^svault \d\S+, control plane 7\.3\.0, webhook 7\.1\.9: too far apart$/),
    remedy: 'upgrade the webhook, then svault',
  });
  const { code, err } = await owner.svault(['webhook', 'status']);
  expect([code, err]).toEqual([0, matching(/upgrade the webhook, then svault\n/)]);
});
