import { Secret, ManualClock, newId } from '@svault/shared';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { join } from 'node:path';
import { ensureOwner } from '../src/accounts/bootstrap.ts';
import { forgetEndedSignIns } from '../src/accounts/ended-sign-ins.ts';
import { isLoginLinkLive, makeLoginLink } from '../src/accounts/login-link.ts';
import { createSessions, openSession } from '../src/accounts/sessions.ts';
import { type Database, openDatabase } from '../src/store/database.ts';
import { createStores } from '../src/store/unit-of-work-kysely.ts';

const HOUR_MS = 3_600_000;
const dir = tempDir();
const clock = new ManualClock();
let database: Database;
beforeAll(async () => {
  database = await openDatabase(join(dir.path, 'a.db'), [new Secret(new Uint8Array(32))]);
});
afterAll(async () => {
  await database.close();
  dir.remove();
});

it('forgets sessions and links that ended unused, so that a clock set back revives none', async () => {
  const stores = createStores(database.kysely, clock);
  const input = {
    email: `${newId('usr')}@example.org`,
    adminKey: undefined,
    placeholderEmail: 'none@example.org',
  };
  const { owner } = await ensureOwner(stores, input, clock);
  const sessions = createSessions(stores, clock);
  const link = await makeLoginLink(stores, owner, { baseUrl: 'http://127.0.0.1', clock });
  const linkToken = new URL(link).searchParams.get('token')!;
  const ended = await openSession(stores, owner, 'left alone', clock);

  clock.advance(5 * HOUR_MS);
  const going = await openSession(stores, owner, 'in use', clock);
  clock.advance(4 * HOUR_MS);
  await forgetEndedSignIns(stores, clock);

  clock.jump(-8 * HOUR_MS);
  expect(await sessions.resolve(ended.sessionToken)).toBeUndefined();
  expect(await isLoginLinkLive(stores, linkToken, clock)).toBe(false);
  clock.jump(8 * HOUR_MS);
  expect(await sessions.resolve(going.sessionToken)).toMatchObject({ userId: owner.id });
});
