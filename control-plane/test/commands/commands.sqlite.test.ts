import { existsSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { randomToken } from '@svault/shared';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ENDED_BY_RESTORE } from '../../src/commands/backup.ts';
import { type Place, makePlace } from '../support/management-service.ts';
import { serveInTest, serviceInTest } from '../support/use-service.ts';
import { registerClient } from '../support/consent-page.ts';
import {
  type OauthFixture,
  REDIRECT,
  approve,
  connect,
  exchange,
  isActive,
  newAgent,
  refresh,
  errorIn,
} from '../support/oauth-client.ts';
import { command, program } from '../support/run-program.ts';

describe('backups', () => {
  test('backup writes a copy that restore-backup takes in an empty place, without its sessions and approvals', async () => {
    // The very first start makes the file, whose mode is looked at.
    const service = await serveInTest(await makePlace({}, { empty: true }));
    const { agent, apiKey } = (await service.admin('POST', '/api/agents', { body: { name: 'kept' } })).json;
    const token = new URL(service.running.ownerLink ?? '').searchParams.get('token');
    const signIn = await service.anyone('POST', '/api/login/link', { body: { token } });
    const cookie = signIn.headers.get('set-cookie')?.split(';')[0] ?? '';
    const world: OauthFixture = { service, cookie, clientId: await registerClient(service, [REDIRECT]) };
    const [client, code] = [await connect(world), await approve(world, await newAgent(world))];
    expect(await isActive(world, client)).toBe(true);
    const file = join(service.place.folder, 'backup.db');
    const body = {
      name: 'p',
      upstreamUrl: 'https://mcp.example.com/',
      serviceName: 'github',
      allowMissing: true,
    };
    const { proxy, key } = (await service.admin('POST', '/api/proxies', { body })).json;
    await service.place.state.run(`UPDATE proxies SET delivered_as = 'whk_1 1'`);
    await service.admin('PATCH', '/api/vault', { body: { accessRequests: true } });
    const asked = await service.anyone('POST', '/api/agents/access-requests', {
      headers: { authorization: `Bearer ${apiKey}` },
      body: { service: 'github' },
    });
    expect(asked.status).toBe(202);

    expect((await command(service.place.env, 'backup', file)).code).toBe(0);
    const again = await command(service.place.env, 'backup', file);
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('exists already')]);

    const other = await makePlace({}, { empty: true });
    const place: Place = { ...other, adminKey: service.place.adminKey, env: movedTo(service.place, other) };
    expect((await command(place.env, 'restore-backup', file)).code).toBe(0);
    const occupied = await command(place.env, 'restore-backup', file);
    expect([occupied.code, occupied.stderr]).toEqual([1, expect.stringContaining('already')]);

    for (const { databasePath } of [service.place, place])
      expect((await stat(databasePath)).mode & 0o777).toBe(0o600);
    const restored = await serveInTest(place);
    const revealed = await restored.admin('POST', `/api/agents/${agent.id}/reveal-key`);
    expect(revealed.json).toEqual({ apiKey });
    expect((await restored.admin('POST', `/api/proxies/${proxy.id}/reveal-key`)).json).toEqual({ key });
    // What the webhook has of it by now may be later, and is not what this says.
    expect(await place.state.value('SELECT delivered_as FROM proxies')).toBeNull();
    // One that was used up or denied since would count again.
    expect((await restored.admin('GET', '/api/approvals')).json.items).toEqual([]);
    expect((await restored.anyone('GET', '/api/me', { headers: { cookie } })).status).toBe(401);
    const there: OauthFixture = { ...world, service: restored };
    const refused = [await exchange(there, code), await refresh(there, client)].map(errorIn);
    expect([await isActive(there, client), ...refused]).toEqual([
      false,
      '400 invalid_grant',
      '400 invalid_grant',
    ]);
  });

  test('a restore of PostgreSQL ends by SQL, as the page says it, what restore-backup ends', async () => {
    const page = await readFile(
      join(import.meta.dirname, '../../../docs/operate/backup-and-restore.md'),
      'utf8',
    );
    const scripts = page.match(/psql .*-c '[^']*'/g) ?? [];
    expect(scripts).toHaveLength(2);
    for (const script of scripts)
      expect(script.match(/(?<=DELETE FROM )\w+(?=;)/g)?.toSorted()).toEqual(ENDED_BY_RESTORE.toSorted());
  });

  test('restore-backup refuses a file that was changed, cut or extended, another key, and leaves the place empty', async () => {
    const service = await serviceInTest();
    const file = join(service.place.folder, 'backup.db');
    await command(service.place.env, 'backup', file);
    const whole = await readFile(file);
    const other = await makePlace({}, { empty: true });
    onTestFinished(() => other.remove());
    const env = movedTo(service.place, other);
    const flipped = Buffer.from(whole);
    flipped[whole.length >> 1]! ^= 1;
    const wrongKey = { ...env, SV_MASTER_KEY: randomToken(32) };
    const cases: readonly (readonly [Buffer, Record<string, string>, string])[] = [
      [whole.subarray(0, whole.length - 8_192), env, 'is no whole backup'],
      [Buffer.concat([whole, Buffer.of(0)]), env, 'is no whole backup'],
      [whole.subarray(0, whole.lastIndexOf('{"program":')), env, 'is no whole backup'],
      [flipped, env, 'was changed since the backup was made'],
      [whole, wrongKey, 'the root key does not open this backup'],
    ];
    for (const [bytes, settings, problem] of cases) {
      await writeFile(file, bytes);
      const { code, stderr } = await command(settings, 'restore-backup', file);
      expect([code, stderr]).toEqual([1, expect.stringContaining(problem)]);
      expect(existsSync(other.databasePath)).toBe(false);
    }
  });

  test('a backup from before a rotation of the root key is restored with the key of its time alone', async () => {
    const service = await serviceInTest();
    const file = join(service.place.folder, 'backup.db');
    await command(service.place.env, 'backup', file);
    const next = randomToken(32);
    const rotation = await command({ ...service.place.env, SV_MASTER_KEY_NEXT: next }, 'rotate-master-key');
    expect(rotation.code).toBe(0);
    const other = await makePlace({}, { empty: true });
    onTestFinished(() => other.remove());
    const env = movedTo(service.place, other);
    const withNext = await command({ ...env, SV_MASTER_KEY: next }, 'restore-backup', file);
    expect([withNext.code, existsSync(other.databasePath)]).toEqual([1, false]);
    expect(await command(env, 'restore-backup', file)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Restored the backup of \d{4}-/),
    });
  });
});

describe('one serve and one root key per file', () => {
  test('R20: a backup under a wrong root key changes no byte', async () => {
    const service = await serviceInTest();
    await service.running.close();
    const before = await service.place.state.digest();
    const env = { ...service.place.env, SV_MASTER_KEY: randomToken(32) };
    const { code, stderr } = await command(env, 'backup', join(service.place.folder, 'b.db'));
    const said = expect.stringContaining('SV_MASTER_KEY does not open this database');
    expect([code, stderr]).toEqual([1, said]);
    expect(await service.place.state.digest()).toBe(before);
  });

  test('R22: a second serve on one file', async () => {
    const service = await serviceInTest();
    const { code, stderr } = await program(service.place.env);
    expect([code, stderr]).toEqual([1, expect.stringContaining('another process already serves')]);
    expect((await service.admin('GET', '/api/me')).status).toBe(200);
  });
});

/** The settings of one place, for the database of another. */
const movedTo = (from: Place, to: Place): Record<string, string> => ({
  ...from.env,
  SV_DATABASE_URL: `sqlite:${to.databasePath}`,
});
