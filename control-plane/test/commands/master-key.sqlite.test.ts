import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { randomToken } from '@svault/shared';
import { programEnv } from '@svault/test-kit/program-env';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ManagementService, type Place, makePlace, serveOn } from '../support/management-service.ts';
import { command } from '../support/run-program.ts';

/*
 * R20: under a wrong, missing or cut root key the service does not start and no byte of its database changes; a
 * rotation that is killed leaves the former or the new key in force, and goes on.
 */

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

let place: Place;
let agentId: string;
let apiKey: string;

async function makeDatabase(): Promise<() => Promise<void>> {
  const made = (place = await makePlace());
  const service = await serveOn(place);
  const { agent, apiKey: key } = (await service.admin('POST', '/api/agents', { body: { name: 'kept' } }))
    .json;
  [agentId, apiKey] = [agent.id, key];
  await service.running.close();
  return made.remove;
}

const key = (): string => place.env['SV_MASTER_KEY'] ?? '';
const withSettings = (settings: Readonly<Record<string, string>>): Place => ({
  ...place,
  env: { ...place.env, ...settings },
});

const digest = (): Promise<string> => place.state.digest();

/** Starts, reveals the agent's key, stops: everything wrapped opens. */
async function opensWith(settings: Readonly<Record<string, string>>): Promise<boolean> {
  let service: ManagementService;
  try {
    service = await serveOn(withSettings(settings));
  } catch (error) {
    expect((error as Error).message).toContain('SV_MASTER_KEY does not open this database');
    return false;
  }
  const revealed = await service.admin('POST', `/api/agents/${agentId}/reveal-key`);
  expect(revealed.json).toEqual({ apiKey });
  await service.running.close();
  return true;
}

const flipped = (text: string): string => (text.startsWith('A') ? 'B' : 'A') + text.slice(1);

describe('no start, and no byte changed', () => {
  beforeAll(makeDatabase);

  test.each([
    ['a key with one bit changed', () => flipped(key())],
    ['zeros', () => 'A'.repeat(43)],
  ])('%s', async (_what, wrong) => {
    const before = await digest();
    expect(await opensWith({ SV_MASTER_KEY: wrong() })).toBe(false);
    expect(await opensWith({ SV_MASTER_KEY: wrong(), SV_MASTER_KEY_NEXT: randomToken(32) })).toBe(false);
    expect(await digest()).toBe(before);
  });

  test.each([
    ['missing', () => ''],
    ['cut by one character', () => key().slice(0, 42)],
    ['cut to half', () => key().slice(0, 21)],
    ['one character longer', () => `${key()}A`],
    ['not in its one spelling', () => `${key()}=`],
    ['in hex', () => Buffer.from(key(), 'base64url').toString('hex')],
  ])('a key that is %s, from the environment and from a file', async (_what, wrong) => {
    const before = await digest();
    await expect(serveOn(withSettings({ SV_MASTER_KEY: wrong() }))).rejects.toThrow('SV_MASTER_KEY');
    const file = join(place.folder, 'master.key');
    writeFileSync(file, `${wrong()}\n`);
    const { SV_MASTER_KEY: _inFile, ...env } = place.env;
    await expect(serveOn({ ...place, env: { ...env, SV_MASTER_KEY_FILE: file } })).rejects.toThrow(
      'SV_MASTER_KEY',
    );
    await expect(serveOn({ ...place, env: { ...env, SV_MASTER_KEY_FILE: `${file}.gone` } })).rejects.toThrow(
      'SV_MASTER_KEY',
    );
    expect(await digest()).toBe(before);
  });

  test('and under the key that it was made with it opens after all of that', async () => {
    expect(await opensWith({})).toBe(true);
  });
});

describe('no start, and no byte changed, where the database', () => {
  beforeEach(makeDatabase);

  test.each([
    ['cut', 'UPDATE sealing_keys SET wrapped = substr(wrapped, 1, 40)'],
    ['empty', "UPDATE sealing_keys SET wrapped = ''"],
    ['changed', "UPDATE sealing_keys SET wrapped = 'AB' || substr(wrapped, 3)"],
    ['no base64url', "UPDATE sealing_keys SET wrapped = '===='"],
  ])('has a wrapped key that is %s', async (_what, damage) => {
    await place.state.run(damage);
    const before = await digest();
    expect(await opensWith({})).toBe(false);
    expect(await digest()).toBe(before);
  });

  // A second key made in its place would hide that everything wrapped under the first is lost.
  test('has none any more', async () => {
    await place.state.run('DELETE FROM sealing_keys');
    const before = await digest();
    for (const settings of [{}, { SV_MASTER_KEY: randomToken(32) }])
      await expect(serveOn(withSettings(settings))).rejects.toThrow('has lost the key');
    expect(await digest()).toBe(before);
  });

  test('but a first start that was killed before it had a key goes on', async () => {
    await place.state.run('DELETE FROM sealing_keys');
    await place.state.run(
      place.state.kind === 'postgres'
        ? 'TRUNCATE vaults CASCADE'
        : `PRAGMA foreign_keys = OFF; DELETE FROM vaults; DELETE FROM users; DELETE FROM admin_keys;
           DELETE FROM agents; DELETE FROM login_links`,
    );
    const service = await serveOn(place);
    expect((await service.admin('GET', '/api/me')).status).toBe(200);
    await service.running.close();
  });
});

describe('rotation', () => {
  const next = randomToken(32);

  beforeEach(makeDatabase);

  const rotate = async (): Promise<number> =>
    (await command({ ...place.env, SV_MASTER_KEY_NEXT: next }, 'rotate-master-key')).code;

  /** Rotates in a process of its own, and lets `meanwhile` act on it. */
  async function rotateApart(meanwhile: (child: ChildProcess) => Promise<void>): Promise<void> {
    const env = programEnv({ ...place.env, SV_MASTER_KEY_NEXT: next });
    const child = spawn(process.execPath, [MAIN, 'rotate-master-key'], { env, stdio: 'ignore' });
    const ended = once(child, 'exit');
    await meanwhile(child);
    await ended;
  }

  const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? -1;

  test('either key opens while both are set, only the new one afterwards', async () => {
    expect(await opensWith({ SV_MASTER_KEY_NEXT: next })).toBe(true);
    expect(await rotate()).toBe(0);
    expect(await opensWith({ SV_MASTER_KEY_NEXT: next })).toBe(true);
    expect(await opensWith({ SV_MASTER_KEY: next })).toBe(true);
    expect(await opensWith({})).toBe(false);
  });

  test('killed at any moment, the former or the new key is in force, and it goes on', async () => {
    const wal = `${place.databasePath}-wal`;
    const others = async (state: string): Promise<boolean> =>
      ((await place.state.value(
        `SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid() AND state LIKE ?`,
        state,
      )) as number) > 0;
    const moments: readonly (() => boolean | Promise<boolean>)[] =
      place.state.kind === 'postgres'
        ? [() => true, () => others('%'), () => others('idle in transaction')]
        : [() => true, () => sizeOf(wal) >= 0, () => sizeOf(wal) > 0, () => sizeOf(wal) > 5_000];
    for (const hasCome of moments) {
      await rotateApart(async (child) => {
        while (!(await hasCome()) && child.exitCode === null) await nextTurn();
        child.kill('SIGKILL');
      });
      const [former, present] = [await opensWith({}), await opensWith({ SV_MASTER_KEY: next })];
      expect([former, present].filter(Boolean)).toHaveLength(1);
    }
    expect(await rotate()).toBe(0);
    expect([await opensWith({}), await opensWith({ SV_MASTER_KEY: next })]).toEqual([false, true]);
  });

  test('is refused under a wrong present key, and changes no byte', async () => {
    const before = await digest();
    place = withSettings({ SV_MASTER_KEY: randomToken(32) });
    expect(await rotate()).toBe(1);
    expect(await digest()).toBe(before);
  });
});
