import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { newKey } from '@svault/shared';
import { afterAll, describe, expect, test } from 'vitest';
import { BIN, commandLine } from './command-line.ts';
import { answering } from './fake-servers.ts';

// What only a process shows: pipes, signals, and what it is seen with from outside.

const person = commandLine();
afterAll(() => person.remove());

const inBash = (script: string): { out: string; err: string } => {
  const { stdout: out, stderr: err } = spawnSync('bash', ['-c', script], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: person.dir, NODE: process.execPath, BIN },
  });
  return { out, err };
};

describe('a closed pipe', () => {
  test('a reader that has seen enough is no error', () => {
    expect(inBash('"$NODE" "$BIN" explain --format wide | head -n 1; echo "${PIPESTATUS[0]}"')).toEqual({
      out: expect.stringMatching(/^[A-Z_]+ .*\n0\n$/),
      err: '',
    });
  });

  test('nor is one that never reads', () => {
    expect(inBash('"$NODE" "$BIN" --help | true; echo "${PIPESTATUS[0]}"')).toEqual({ out: '0\n', err: '' });
  });

  test('a closed stderr changes no exit code', () => {
    expect(inBash('"$NODE" "$BIN" frobnicate 2>&-; echo "$?"').out).toBe('2\n');
  });
});

test('Ctrl-C while a control plane takes its time: exit 130, and no more than that', async () => {
  const child = new AbortController();
  const SVAULT_BASE_URL = await answering(() => child.abort());
  const env = { SVAULT_BASE_URL, SVAULT_KEY: newKey('svagent') };
  const said = await person.spawned(['ls'], { env, interrupt: child.signal });
  expect(said).toEqual({ code: 130, out: '', err: '' });
});

test('nothing is left in the folder where a command happens to be run', () => {
  const cwd = join(person.dir, 'somewhere');
  mkdirSync(cwd);
  const env = { SVAULT_KEYCHAIN: 'off', HOME: '', XDG_CONFIG_HOME: 'here' };
  const args = ['login', '--key', '-', '--base-url', 'http://127.0.0.1:1'];
  const { status, stderr } = spawnSync(process.execPath, [BIN, ...args], {
    cwd,
    env,
    input: newKey('svagent'),
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([
    2,
    expect.stringMatching(/^error: HOME or XDG_CONFIG_HOME says .* set SVAULT_CONFIG_DIR\n$/),
  ]);
  expect(readdirSync(cwd)).toEqual([]);
});
