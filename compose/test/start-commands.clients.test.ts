import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { freePort } from '../src/free-port.ts';
import { type Place, type Started, endedStart, started } from './started-pair.ts';

let folder: ReturnType<typeof tempDir>;
let running: Started | undefined;
/** Another terminal, in which nothing is said about ports. */
let elsewhere: Place;

beforeEach(() => {
  folder = tempDir();
  elsewhere = { cwd: folder.path, env: {} };
});
afterEach(() => {
  running?.endAll();
  running = undefined;
  folder.remove();
});

async function start(): Promise<string> {
  const [port, webhookPort] = await Promise.all([freePort(), freePort()]);
  const env = { SVAULT_PORT: String(port), SVAULT_WEBHOOK_PORT: String(webhookPort) };
  running = await started({ ...elsewhere, env });
  return `http://127.0.0.1:${port}`;
}

test('npm start -- owner-link and audit verify act on the pair that runs, at the ports it runs at', async () => {
  const url = await start();
  const link = await endedStart(elsewhere, 'owner-link');
  expect(link).toEqual({ code: 0, out: expect.stringContaining(`${url}/login/link?token=`), err: '' });
  const token = new URL(link.out.trim()).searchParams.get('token');
  const signIn = await fetch(`${url}/api/login/link`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  });
  expect(signIn.status).toBe(200);

  const verified = await endedStart(elsewhere, 'audit', 'verify');
  expect({ ...verified, out: '' }).toEqual({ code: 0, out: '', err: '' });
  expect(verified.out).toMatch(/^vlt_\S+ intact, .*\nthe log is whole: .*\n$/);
});

test('npm start -- backup writes both databases, and one of them restored is served by the next start', async () => {
  const url = await start();
  expect(await endedStart(elsewhere, 'backup', 'kept/today')).toMatchObject({ code: 0, err: '' });
  const files = readdirSync(join(folder.path, 'kept/today'));
  expect(files.toSorted()).toEqual(['control-plane.db', 'webhook.db']);
  for (const file of files) expect(statSync(join(folder.path, 'kept/today', file)).mode & 0o777).toBe(0o600);
  const again = await endedStart(elsewhere, 'backup', 'kept/today');
  const problem = `${join(folder.path, 'kept/today')} exists already: name a new folder`;
  expect(again).toEqual({ code: 1, out: '', err: `svault: ${problem}\n` });

  await running?.interrupt();
  const missing = await endedStart(elsewhere, 'control-plane', 'restore-backup', 'kept/none.db');
  expect(missing).toMatchObject({ code: 1, out: '' });
  for (const file of readdirSync(join(folder.path, '.svault')))
    if (file.startsWith('control-plane.db')) rmSync(join(folder.path, '.svault', file));
  const restoring = ['control-plane', 'restore-backup', 'kept/today/control-plane.db'];
  expect(await endedStart(elsewhere, ...restoring)).toMatchObject({ code: 0, err: '' });
  running = await started(elsewhere);
  expect(running.told).toContain(`control plane  ${url}`);
});

test('npm start -- says in one line that there is no pair yet, and lists its words for others', async () => {
  const none = await endedStart(elsewhere, 'owner-link');
  const problem = `there is no pair in ${join(folder.path, '.svault')} yet: npm start creates one`;
  expect(none).toEqual({ code: 1, out: '', err: `svault: ${problem}\n` });
  const { code, out, err } = await endedStart(elsewhere, 'frobnicate');
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect((await endedStart(elsewhere, '--help')).out).toBe(err);
  for (const words of ['owner-link', 'backup FOLDER', 'audit verify']) expect(err).toContain(`-- ${words} `);
  expect(readdirSync(folder.path)).toEqual([]);
});
