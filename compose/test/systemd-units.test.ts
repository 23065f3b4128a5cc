import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, describe, expect, test } from 'vitest';
import { COMPOSE } from './deployment.ts';

const UNITS = join(COMPOSE, 'systemd');
const read = (name: string): string => readFileSync(join(UNITS, name), 'utf8');
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

test('the units of both programs differ only in the name of the program', () => {
  const named = read('svault-control-plane.service').replaceAll('control-plane', 'webhook');
  expect(named.replace('svault control plane', 'svault webhook')).toBe(read('svault-webhook.service'));
});

test('wrong settings, which end a program with 2, start no unit again', () => {
  expect(read('svault-webhook.service')).toMatch(/^Restart=on-failure$[\s\S]*^RestartPreventExitStatus=2$/m);
});

test('svault-run rejects a call without a program or a subcommand, with exit code 2', () => {
  for (const words of [[], ['webhook'], ['vault', 'backup', 'file']]) {
    const { status, stderr } = spawnSync(join(UNITS, 'svault-run'), words, { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringMatching(/^Usage: svault-run /) });
  }
});

describe.skipIf(!hasSystemd)('systemd', () => {
  const dir = tempDir();
  afterAll(() => dir.remove());
  const checkout = dirname(COMPOSE);
  cpSync(UNITS, dir.path, { recursive: true });
  renameSync(join(dir.path, 'svault-backup@.service'), join(dir.path, 'svault-backup@webhook.service'));
  const units = readdirSync(dir.path).filter((name) => /\.(service|timer)$/.test(name));
  for (const name of units) {
    const path = join(dir.path, name);
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll('/opt/svault/current', checkout));
  }
  const analyze = (...words: readonly string[]) =>
    spawnSync('systemd-analyze', words, {
      encoding: 'utf8',
      env: { ...process.env, SYSTEMD_UNIT_PATH: `${dir.path}:` },
    });

  test('knows every line of the units', () => {
    const paths = units
      .filter((name) => !name.includes('control-plane.timer'))
      .map((name) => join(dir.path, name));
    const { status, stderr } = analyze('verify', '--man=no', ...paths);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  test.each(units.filter((name) => name.endsWith('.service')))(
    'rates the sandbox of %s at most 2 of 10',
    (name) => {
      const { status, stdout } = analyze(
        'security',
        '--offline=true',
        '--no-pager',
        '--threshold=20',
        join(dir.path, name),
      );
      expect({ status, stdout }).toEqual({
        status: 0,
        stdout: expect.stringContaining('Overall exposure level'),
      });
    },
  );
});
