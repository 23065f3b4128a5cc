import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DebianPostgres, startDebianPostgres } from '../support/debian-postgres.ts';
import { inShell } from '../support/in-shell.ts';
import { type ManagementService, makePlace, serveOn } from '../support/management-service.ts';
import { command } from '../support/run-program.ts';

// The commands of docs/operate/backup-and-restore.md, with PostgreSQL's own tools.

const PAGE = join(import.meta.dirname, '../../../docs/operate/backup-and-restore.md');
const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const dir = tempDir();
let server: DebianPostgres;
let service: ManagementService;
let agent: { readonly id: string };
let apiKey: string;

beforeAll(async () => {
  server = await startDebianPostgres();
  const place = await makePlace();
  const env = { ...place.env, SV_DATABASE_URL: await server.create('original') };
  service = await serveOn({ ...place, env });
  ({ agent, apiKey } = (await service.admin('POST', '/api/agents', { body: { name: 'kept' } })).json);
  const body = { serviceName: 'github', allowMissing: true };
  await service.admin('POST', `/api/agents/${agent.id}/grants`, { body });
});
afterAll(async () => {
  await service.stop();
  await server.remove();
  dir.remove();
});

async function restored(script: string, name: string) {
  const env = { ...service.place.env, EMPTY_DATABASE_URL: await server.create(name) };
  const inPlace = script.replace('npx node control-plane/src/main.ts', `${process.execPath} ${MAIN}`);
  expect(inPlace).not.toBe(script);
  return { env, ended: await inShell(dir.path, inPlace, env) };
}

async function blockOfPage(): Promise<string> {
  const [, block = ''] = /^```sh\n(pg_dump[\s\S]*?)^```$/m.exec(await readFile(PAGE, 'utf8')) ?? [];
  return block;
}

test('a dump that the page makes while serve runs is restored, found consistent, and served on', async () => {
  const { env, ended } = await restored(await blockOfPage(), 'restored');
  expect([ended.code, ended.stderr]).toEqual([0, '']);
  expect(ended.stdout).toMatch(
    / intact, \d+ events.*\n1 wrapped values looked at\nThe database is consistent\.\n$/,
  );
  const { EMPTY_DATABASE_URL: url } = env;
  const place = { ...service.place, env: { ...service.place.env, SV_DATABASE_URL: url } };
  const again = await serveOn(place, service.clock);
  expect((await again.admin('POST', `/api/agents/${agent.id}/reveal-key`)).json).toEqual({ apiKey });
  await again.running.close();
});

test('a dump of which a table was left out is not found consistent', async () => {
  const block = (await blockOfPage()).replace('pg_dump', 'pg_dump --exclude-table=attention_marks');
  const { ended } = await restored(block, 'cut');
  expect([ended.code, ended.stdout]).toEqual([
    1,
    expect.stringContaining('the table attention_marks is missing'),
  ]);
});

test('a dump that was restored under another root key does not open', async () => {
  const { env } = await restored(await blockOfPage(), 'other_key');
  const settings = {
    ...service.place.env,
    SV_DATABASE_URL: env.EMPTY_DATABASE_URL,
    SV_MASTER_KEY: 'A'.repeat(43),
  };
  const { code, stderr } = await command(settings, 'verify-database');
  expect([code, stderr]).toEqual([1, expect.stringContaining('SV_MASTER_KEY does not open this database')]);
});
