import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { newKey } from '@svault/shared';
import { expect, test } from 'vitest';
import { makePlace } from '../support/management-service.ts';
import { useService } from '../support/use-service.ts';
import { command, program } from '../support/run-program.ts';

const service = useService();

test.each([['backup'], ['restore-backup']])('%s names the tools to use, and does nothing', async (words) => {
  const file = join(service.place.folder, 'backup');
  const { code, stderr } = await command(service.place.env, words, file);
  expect([code, stderr]).toEqual([2, expect.stringMatching(/PostgreSQL.*pg_dump.*pg_restore/)]);
  expect(existsSync(file)).toBe(false);
});

test.each([
  [
    'a database that is not there',
    command,
    (url: string) => url.replace(/\/place_\w+$/, '/nowhere'),
    'nowhere',
  ],
  ['a server that is not there', command, (url: string) => url.replace(/:\d+\//, ':1/'), 'ECONNREFUSED'],
  [
    'a wrong password',
    // All that the process writes, its log too.
    program,
    (url: string) => url.replace(/:[^:@/]+@/, ':hunter2@'),
    'password authentication failed',
  ],
])('%s ends the start in one line, without the password', async (_what, run, change, said) => {
  const url = change(service.place.env['SV_DATABASE_URL'] ?? '');
  const { code, stderr, stdout } = await run({ ...service.place.env, SV_DATABASE_URL: url });
  expect([code, stderr]).toEqual([1, expect.stringContaining(said)]);
  expect(stderr).toContain('SV_DATABASE_URL');
  expect(stderr + stdout).not.toMatch(/hunter2|test-database-password/);
});

test('a subcommand does not make a schema where there is none', async () => {
  const empty = await makePlace({ SV_BOOTSTRAP_ADMIN_KEY: newKey('svadmin') });
  await empty.state.run('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
  const { code, stderr } = await command(empty.env, 'owner-link');
  expect([code, stderr]).toEqual([1, expect.stringContaining('there is no database at 127.0.0.1')]);
  expect(await empty.state.columns()).toEqual({});
  await empty.remove();
});

test('audit verify beside two running serves says whether the chain holds', async () => {
  const { place, admin } = service;
  await admin('POST', '/api/agents', { body: { name: 'a' } });
  expect(await command(place.env, 'audit', 'verify')).toMatchObject({ code: 0, stdout: /intact/ });
  await place.state.run("UPDATE audit_events SET outcome = 'denied' WHERE seq = 2");
  expect(await command(place.env, 'audit', 'verify')).toMatchObject({ code: 1, stdout: /BROKEN at event 2/ });
});
