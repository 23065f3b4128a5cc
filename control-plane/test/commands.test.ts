import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, test } from 'vitest';
import { openPlain } from '@svault/server-kit/sqlite';
import { randomToken } from '@svault/shared';
import {
  type ManagementService,
  type Place,
  makePlace,
  serveOn,
  startService,
} from './management-service.ts';

const run = promisify(execFile);
const MAIN = new URL('../src/main.ts', import.meta.url).pathname;

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function started(place?: Place): Promise<ManagementService> {
  const service = place === undefined ? await startService() : await serveOn(place);
  cleanups.push(() => service.stop());
  return service;
}

/** Runs the program as an operator does. @returns its exit code and what it wrote */
async function program(env: Readonly<Record<string, string>>, ...words: string[]) {
  const options = { env: { PATH: process.env['PATH'] ?? '', ...env } };
  return run(process.execPath, [MAIN, ...words], options).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
      code,
      stdout,
      stderr,
    }),
  );
}

const digestOf = async (path: string): Promise<string> =>
  createHash('sha256')
    .update(await readFile(path))
    .digest('hex');

describe('beside a running serve', () => {
  test('owner-link prints a link that signs in once', async () => {
    const service = await started();
    const { code, stdout } = await program(service.place.env, 'owner-link');
    expect(code).toBe(0);
    service.clock.jump(Date.now() - service.clock.now());
    const token = new URL(stdout.trim()).searchParams.get('token');
    expect((await service.anyone('POST', '/api/login/link', { body: { token } })).status).toBe(200);
    expect((await service.anyone('POST', '/api/login/link', { body: { token } })).status).toBe(401);
  });

  test('backup writes a copy that restore-backup takes in an empty place, without its sessions', async () => {
    const service = await started();
    const { agent, apiKey } = (await service.admin('POST', '/api/agents', { body: { name: 'kept' } })).json;
    const token = new URL(service.running.ownerLink ?? '').searchParams.get('token');
    const signIn = await service.anyone('POST', '/api/login/link', { body: { token } });
    const cookie = signIn.headers.get('set-cookie')?.split(';')[0] ?? '';
    const file = join(service.place.folder, 'backup.db');

    expect((await program(service.place.env, 'backup', file)).code).toBe(0);
    const again = await program(service.place.env, 'backup', file);
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('exists already')]);

    const other = await makePlace();
    const place: Place = { ...other, adminKey: service.place.adminKey, env: movedTo(service.place, other) };
    expect((await program(place.env, 'restore-backup', file)).code).toBe(0);
    const occupied = await program(place.env, 'restore-backup', file);
    expect([occupied.code, occupied.stderr]).toEqual([1, expect.stringContaining('already')]);

    for (const { databasePath } of [service.place, place])
      expect((await stat(databasePath)).mode & 0o777).toBe(0o600);
    const restored = await started(place);
    const revealed = await restored.admin('POST', `/api/agents/${agent.id}/reveal-key`);
    expect(revealed.json).toEqual({ apiKey });
    expect((await restored.anyone('GET', '/api/me', { headers: { cookie } })).status).toBe(401);
  });

  test('restore-backup refuses a damaged file and leaves the place empty', async () => {
    const service = await started();
    const file = join(service.place.folder, 'backup.db');
    await program(service.place.env, 'backup', file);
    const bytes = await readFile(file);
    await writeFile(file, bytes.subarray(0, bytes.length - 8_192));
    const other = await makePlace();
    cleanups.push(() => other.remove());
    const { code } = await program(movedTo(service.place, other), 'restore-backup', file);
    expect([code, existsSync(other.databasePath)]).toEqual([1, false]);
  });

  test('rotate-master-key: the running serve goes on, the next start needs the new key', async () => {
    const service = await started();
    const { agent, apiKey } = (await service.admin('POST', '/api/agents', { body: { name: 'kept' } })).json;
    const next = randomToken(32);
    const env = { ...service.place.env, SV_MASTER_KEY_NEXT: next };
    for (const _ of ['once', 'and again, as after a kill'])
      expect((await program(env, 'rotate-master-key')).code).toBe(0);

    const reveal = `/api/agents/${agent.id}/reveal-key`;
    expect((await service.admin('POST', reveal)).json).toEqual({ apiKey });
    const late = (await service.admin('POST', '/api/agents', { body: { name: 'late' } })).json;
    await service.running.close();

    await expect(serveOn(service.place)).rejects.toThrow('SV_MASTER_KEY does not open this database');
    const rotated = await serveOn({ ...service.place, env: { ...service.place.env, SV_MASTER_KEY: next } });
    expect((await rotated.admin('POST', reveal)).json).toEqual({ apiKey });
    const lateReveal = await rotated.admin('POST', `/api/agents/${late.agent.id}/reveal-key`);
    expect(lateReveal.json).toEqual({ apiKey: late.apiKey });
    await rotated.running.close();
  });

  test('rotate-master-key says which setting it needs', async () => {
    const service = await started();
    const { code, stderr } = await program(service.place.env, 'rotate-master-key');
    expect([code, stderr]).toEqual([2, expect.stringContaining('SV_MASTER_KEY_NEXT')]);
  });
});

describe('starts that are refused', () => {
  test.each([
    '',
    'short',
    randomToken(31),
    `${randomToken(32)}=`,
    'no base64url at all, but 43 characters long',
  ])('R20: the master key %j', async (key) => {
    const place = await makePlace({ SV_MASTER_KEY: key });
    cleanups.push(() => place.remove());
    const { code, stderr } = await program(place.env);
    expect([code, stderr]).toEqual([2, expect.stringContaining('SV_MASTER_KEY')]);
    expect(existsSync(place.databasePath)).toBe(false);
  });

  test('R20: a wrong master key changes no byte', async () => {
    const service = await started();
    await service.running.close();
    const before = await digestOf(service.place.databasePath);
    const env = { ...service.place.env, SV_MASTER_KEY: randomToken(32) };
    for (const words of [[], ['owner-link'], ['backup', join(service.place.folder, 'b.db')]]) {
      const { code, stderr } = await program(env, ...words);
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining('SV_MASTER_KEY does not open this database'),
      ]);
    }
    expect(await digestOf(service.place.databasePath)).toBe(before);
  });

  test('R22: a second serve on one file', async () => {
    const service = await started();
    const { code, stderr } = await program(service.place.env);
    expect([code, stderr]).toEqual([1, expect.stringContaining('another process already serves')]);
    expect((await service.admin('GET', '/api/me')).status).toBe(200);
  });

  test('a database of a newer program, with both versions named', async () => {
    const service = await started();
    await service.running.close();
    const db = openPlain(service.place.databasePath);
    db.exec("INSERT INTO schema_migrations (id, name) VALUES (9999, 'from-the-future')");
    db.close();
    await expect(serveOn(service.place)).rejects.toThrow(/schema 9999 \(from-the-future\).*knows up to \d+/);
  });

  test('every problem of the settings at once, and no value of any', async () => {
    const place = await makePlace({
      SV_BASE_URL: 'http://svault.example',
      SV_DATABASE_URL: 'mysql://somewhere',
      SV_BOOTSTRAP_ADMIN_KEY: 'svadmin_tooshort',
      SV_LISTENN: '127.0.0.1:0',
    });
    cleanups.push(() => place.remove());
    const { code, stderr } = await program(place.env);
    expect(code).toBe(2);
    expect(stderr).toContain('SV_LISTENN');
    expect(stderr).not.toContain('tooshort');
    const known = await program({ ...place.env, SV_LISTENN: '' });
    expect(known.stderr).not.toContain('tooshort');
  });
});

/** The settings of one place, for the database of another. */
const movedTo = (from: Place, to: Place): Record<string, string> => ({
  ...from.env,
  SV_DATABASE_URL: `sqlite:${to.databasePath}`,
});
