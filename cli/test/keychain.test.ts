import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { platform } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Context, ContextSecrets } from '../src/contexts/context.ts';
import { localContextStore } from '../src/contexts/context-store.ts';

// A real keychain: Secret Service, on a bus of the test's own.

const hasKeychain = ['dbus-run-session', 'gnome-keyring-daemon'].every(
  (program) => spawnSync(program, ['--version']).status === 0,
);
const WITHOUT = hasKeychain ? '' : ' (NOT RUN: dbus-run-session and gnome-keyring-daemon are needed)';
const STEPS = fileURLToPath(new URL('keychain-steps.ts', import.meta.url));

const dir = tempDir();
afterAll(() => dir.remove());

const context: Context = {
  kind: 'agent',
  name: 'reader',
  baseUrl: 'https://svault.example',
  keyPrefix: 'svagent_abcd…',
};
const secrets: ContextSecrets = { kind: 'key', key: `svagent_${'k'.repeat(43)}` };

describe.skipIf(!hasKeychain)(`with a keychain${WITHOUT}`, () => {
  let said: Record<string, unknown>;
  beforeAll(() => {
    const home = join(dir.path, 'home');
    mkdirSync(home);
    const unlocked = `printf pw | gnome-keyring-daemon --unlock --components=secrets >/dev/null; exec "${process.execPath}" "${STEPS}"`;
    const { stdout, stderr } = spawnSync('dbus-run-session', ['--', 'sh', '-c', unlocked], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], HOME: home, SVAULT_CONFIG_DIR: join(dir.path, 'config') },
    });
    if (stdout === '') throw new Error(stderr);
    said = JSON.parse(stdout);
  });

  test('secrets go there, and into no file', () => {
    expect(said['note']).toBe('its secrets are in the system’s keychain');
    expect(said['read']).toEqual(said['saved']);
    const files = readdirSync(join(dir.path, 'config'));
    expect(files).toEqual(['contexts.json']);
    expect(readFileSync(join(dir.path, 'config', 'contexts.json'), 'utf8')).not.toContain('svagent_kkk');
  });

  test('they are replaced there, and go with their login', () => {
    expect(said['replaced']).toEqual(said['readAgain']);
    expect(said['entries']).toEqual({ afterSave: 1, afterSaveAgain: 1, afterRemove: 0 });
  });

  test('a start without it says so, and forgets all the same', async () => {
    const store = await localContextStore({
      env: { SVAULT_CONFIG_DIR: join(dir.path, 'config'), SVAULT_KEYCHAIN: 'off' },
      signal: new AbortController().signal,
    });
    const [left] = (await store.list()).contexts;
    expect(left).toMatchObject({ name: 'left', secrets: { home: 'keychain' } });
    await expect(left && store.secretsOf(left)).rejects.toMatchObject({
      exit: 'failed',
      message:
        'the secrets of left are in the system’s keychain, which does not open (SVAULT_KEYCHAIN is off): unlock it, or sign in by another name',
    });
    expect(await store.remove('left')).toBe('SVAULT_KEYCHAIN is off');
    expect((await store.list()).contexts).toEqual([]);
  });
});

test.runIf(platform() === 'linux')(
  'where no keychain can be reached, secrets go into the file, and why is said',
  async () => {
    // With the bus of nobody, whatever the machine has.
    const { stdout } = spawnSync(process.execPath, [STEPS, 'away'], {
      encoding: 'utf8',
      env: {
        HOME: dir.path,
        SVAULT_CONFIG_DIR: join(dir.path, 'away'),
        DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent',
      },
    });
    const { note } = JSON.parse(stdout) as { note: string };
    expect(note).toMatch(/secrets are in .*secrets\.json, since there is no keychain \(.+\)$/);
  },
);

test('SVAULT_KEYCHAIN says off or nothing', async () => {
  const env = { SVAULT_CONFIG_DIR: join(dir.path, 'other'), SVAULT_KEYCHAIN: 'on' };
  await expect(
    localContextStore({ env, signal: new AbortController().signal }).then((store) =>
      store.save(context, secrets),
    ),
  ).rejects.toMatchObject({ exit: 'usage', message: expect.stringContaining('SVAULT_KEYCHAIN') });
});
