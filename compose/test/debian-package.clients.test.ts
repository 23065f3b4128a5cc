/** The Debian package, unpacked into a folder in place of the machine. */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, readlinkSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { isInstalled, mustRun, run } from '@svault/test-kit/run-program';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { storeCredential } from '../src/admin-client.ts';
import { startPair } from '../src/pair.ts';
import type { Launcher, ProgramName } from '../src/program-process.ts';
import { COMPOSE } from './deployment.ts';

const ROOT = join(COMPOSE, '..');
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
const dir = tempDir();
const machine = join(dir.path, 'machine');
const program = join(machine, 'opt/svault', version);
let packages: readonly string[] = [];

/** Two builds, each of which compresses 140 MB. */
const HANG_MS = 900_000;

/** Builds the package as another user of another machine, as far as that shows in files. */
async function build(name: string, umask: string): Promise<string> {
  const script = `umask ${umask}; SOURCE_DATE_EPOCH=1700000000 exec "$0" scripts/build-deb.ts "$1"`;
  const words = ['sh', '-euc', script, process.execPath, join(dir.path, name)];
  return mustRun(words, { cwd: ROOT });
}

beforeAll(async () => {
  if (!isInstalled('dpkg-deb', '--version')) throw new Error('dpkg-deb is missing: install dpkg');
  packages = [await build('one', '022'), await build('other', '077')];
  execFileSync('dpkg-deb', ['--extract', packages[0] ?? '', machine]);
}, HANG_MS);
afterAll(() => dir.remove());

const hashOf = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex');

test('two builds are the same, byte for byte', () => {
  expect(packages[0]).toMatch(new RegExp(`/svault_${version}_(?:amd64|arm64)\\.deb$`));
  expect(new Set(packages.map(hashOf)).size).toBe(1);
});

test('all files are of root, may be changed by root alone, and have one time', () => {
  const listing = execFileSync('dpkg-deb', ['--contents', packages[0] ?? ''], { encoding: 'utf8' });
  const lines = listing.trimEnd().split('\n');
  expect(lines.length).toBeGreaterThan(300);
  for (const line of lines)
    expect(line).toMatch(/^(?:[-d]rw[-x]r-[-x]r-[-x]|lrwxrwxrwx) root\/root +\d+ 2023-11-14 /);
});

test('dpkg knows the checksum of each file, and what the package needs', () => {
  const control = join(dir.path, 'control');
  execFileSync('dpkg-deb', ['--control', packages[0] ?? '', control]);
  const { status, stderr } = spawnSync(
    'md5sum',
    ['--check', '--quiet', '--strict', join(control, 'md5sums')],
    {
      cwd: machine,
      encoding: 'utf8',
    },
  );
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(readFileSync(join(control, 'control'), 'utf8')).toMatch(/^Depends: .*systemd \(>= \d+\)/m);
  for (const script of ['postinst', 'prerm', 'postrm'])
    execFileSync('sh', ['-n', join(control, script)], { stdio: 'inherit' });
});

test('the units, svault-run and the command line are where the machine looks for them', () => {
  const isUnit = (name: string) => /\.(?:service|timer|conf)$/.test(name);
  const below = (folder: string) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(isUnit);
  const units = below(join(machine, 'usr/lib/systemd/system')).toSorted();
  const sources = below(join(COMPOSE, 'systemd')).filter((name) => !/^(?:sysusers|tmpfiles)\.d/.test(name));
  expect(units).toEqual(sources.toSorted());
  expect(readlinkSync(join(machine, 'opt/svault/current'))).toBe(version);
  expect(readlinkSync(join(machine, 'usr/bin/svault'))).toBe('/opt/svault/current/svault');
  for (const unit of ['svault-control-plane.service', 'svault-webhook.service']) {
    const text = readFileSync(join(machine, 'usr/lib/systemd/system', unit), 'utf8');
    const [, node = '', main = ''] = /^ExecStart=(\S+) (\S+)$/m.exec(text) ?? [];
    expect(execFileSync(join(machine, node), [join(machine, main), '--help'], { encoding: 'utf8' })).toMatch(
      /^Usage: /,
    );
  }
});

test('systemd makes the users and knows the folders of the package', () => {
  const sysusers = spawnSync('systemd-sysusers', ['--dry-run', '--root', machine, 'svault.conf'], {
    encoding: 'utf8',
  });
  if (sysusers.error !== undefined) throw new Error('systemd-sysusers is missing: install systemd');
  const output = sysusers.stdout + sysusers.stderr;
  for (const name of ['svault-control-plane', 'svault-webhook']) expect(output).toContain(`'${name}'`);
  const folders = readFileSync(join(machine, 'usr/lib/tmpfiles.d/svault.conf'), 'utf8');
  expect(folders).toMatch(/^d \/etc\/svault\/webhook 0750 root svault-webhook$/m);
});

test('both programs run from the package on its own Node, and its command line lets an agent fetch a credential', async () => {
  const node = join(program, 'node_modules/.bin/node');
  const from = (name: ProgramName): Launcher => [
    'sh',
    '-c',
    `exec '${node}' '${join(program, name, 'dist/main.js')}' serve`,
  ];
  const launcher = { 'control-plane': from('control-plane'), webhook: from('webhook') };
  const pair = await startPair({ dir: join(dir.path, 'pair'), launcher });
  onTestFinished(() => pair.stop());
  for (const name of ['control-plane', 'webhook'] as const)
    expect(readlinkSync(`/proc/${pair.process(name).child.pid}/exe`)).toBe(realpathSync(node));
  expect((await fetch(`${pair.controlPlaneUrl}/assets/push-worker.js`)).status).toBe(200);
  await storeCredential(pair.admin, 'github', { tokenType: 'JWT', accessToken: 'the secret' });
  const words = ['agents', 'create', '--name', 'ci', '--grants', 'github'];
  const env = {
    SVAULT_BASE_URL: pair.controlPlaneUrl,
    SVAULT_KEY: pair.adminKey,
    SVAULT_CONFIG_DIR: join(dir.path, 'config'),
    SVAULT_KEYCHAIN: 'off',
  };
  const { code, stdout, stderr } = await run([join(program, 'svault'), ...words], { env });
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const answer = await fetch(`${pair.controlPlaneUrl}/api/agents/credentials?service=github`, {
    headers: { authorization: `Bearer ${stdout.trim()}` },
  });
  expect(await answer.text()).toContain('the secret');
});
