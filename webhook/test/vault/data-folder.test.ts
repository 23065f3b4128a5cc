/** What a start finds in its data folder: one that stands open, half a vault, or none at all. */
import { chmodSync, mkdirSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLogger } from '@svault/server-kit/logger';
import { openSqlite } from '@svault/server-kit/sqlite';
import { randomToken } from '@svault/shared';
import { tempDir } from '@svault/test-kit/temp-dir';
import { webhookConfig } from '../../src/config/config.ts';
import { type RunningWebhook, startWebhook } from '../../src/serve.ts';
import { MIGRATIONS } from '../../src/sqlite/schema.ts';
import { command } from '../support/run-webhook.ts';

let root: ReturnType<typeof tempDir>;
let running: RunningWebhook | undefined;
let env: Record<string, string>;
beforeEach(() => {
  root = tempDir();
  env = {
    SV_WEBHOOK_URL: 'https://webhook.test',
    SV_WEBHOOK_LISTEN: '127.0.0.1:0',
    SV_WEBHOOK_DATA_DIR: join(root.path, 'data'),
    SV_WEBHOOK_MASTER_KEY: randomToken(32),
    SV_WEBHOOK_SERVICE_URL: 'https://service.test',
  };
  mkdirSync(env['SV_WEBHOOK_DATA_DIR']!);
});
afterEach(async () => {
  await running?.close();
  running = undefined;
  root.remove();
});
const start = async (): Promise<RunningWebhook> =>
  (running = await startWebhook(webhookConfig(env), { logger: silentLogger }));
const file = (name = 'webhook.db', dir = env['SV_WEBHOOK_DATA_DIR']!): string => join(dir, name);
const modeOf = (path: string): number => statSync(path).mode & 0o777;

test('in a folder that others can read, only the owner can read the database', async () => {
  chmodSync(env['SV_WEBHOOK_DATA_DIR']!, 0o755);
  await start();
  for (const name of ['webhook.db', 'webhook.db-wal', 'webhook.db-shm'])
    expect([name, modeOf(file(name))]).toEqual([name, 0o600]);

  const backup = join(root.path, 'backup');
  expect((await command({ env }, 'backup', backup)).code).toBe(0);
  expect(modeOf(backup)).toBe(0o600);
  chmodSync(backup, 0o644);
  const restored = join(root.path, 'restored');
  mkdirSync(restored, { mode: 0o755 });
  expect(
    (await command({ env: { ...env, SV_WEBHOOK_DATA_DIR: restored } }, 'restore-backup', backup)).code,
  ).toBe(0);
  expect(modeOf(file('webhook.db', restored))).toBe(0o600);
});

describe('a first start that was killed', () => {
  test.each<readonly [string, () => unknown]>([
    ['before its first write', () => writeFileSync(file(), '')],
    ...MIGRATIONS.map(
      ({ name }, at) =>
        [
          `after ${name}`,
          () => openSqlite(file(), { migrations: MIGRATIONS.slice(0, at + 1) }).close(),
        ] as const,
    ),
  ])('%s continues at the next start', async (_when, leave) => {
    leave();
    const { url, firstSetupToken } = await start();
    expect([(await fetch(`${url}/readyz`)).status, firstSetupToken]).toEqual([200, expect.any(String)]);
  });
});

test('a first start that fails, since its port is taken, leaves the setup token to the next one', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const onTakenPort = webhookConfig({ ...env, SV_WEBHOOK_LISTEN: `127.0.0.1:${port}` });
  await expect(startWebhook(onTakenPort, { logger: silentLogger })).rejects.toThrow(
    'is taken by another program',
  );
  other.close();
  expect((await start()).firstSetupToken).toEqual(expect.any(String));
});

describe('a file that is not a vault of this program', () => {
  test.each<[string, () => void, RegExp]>([
    ['another file', () => writeFileSync(file(), 'x'.repeat(5_000)), /not a database/],
    [
      'a newer schema',
      () => {
        const db = openSqlite(file(), { migrations: MIGRATIONS });
        db.exec(`INSERT INTO schema_migrations (id, name) VALUES (999, 'newer')`);
        db.close();
      },
      /has schema 999 \(newer\).*this is svault \S+, which knows up to/,
    ],
    [
      'a file that was cut',
      () => {
        openSqlite(file(), { migrations: MIGRATIONS }).close();
        truncateSync(file(), 20_000);
      },
      /malformed/,
    ],
  ])('%s is rejected in one line', async (_what, leave, problem) => {
    leave();
    await expect(start()).rejects.toThrow(problem);
    expect(readdirSync(root.path)).toEqual(['data']);
    // The refused start holds nothing: the next one finds the folder free.
    await expect(start()).rejects.toThrow(problem);
  });
});
