import { ManualClock, newId, sha256, toBase64url, utf8 } from '@svault/shared';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ensureOwner } from '../src/accounts/bootstrap.ts';
import { forgetEndedSignIns } from '../src/accounts/ended-sign-ins.ts';
import { makeLoginLink, userOfLoginLink } from '../src/accounts/login-link.ts';
import { createSessions, signInBrowser } from '../src/accounts/sessions.ts';
import {
  approveCliLogin,
  beginCliLogin,
  exchangeCliCode,
  pendingCliLogin,
} from '../src/cli-login/cli-login.ts';
import { createCliSessions, openCliSession } from '../src/cli-login/cli-sessions.ts';
import type { Database } from '../src/store/database.ts';
import { type StorePlace, makeStorePlace } from './store/open-store.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const clock = new ManualClock();
let place: StorePlace;
let database: Database;
beforeAll(async () => {
  place = await makeStorePlace();
  database = await place.open(clock);
});
afterAll(async () => {
  await database.close();
  await place.remove();
});

it('forgets sessions and links that ended unused, so that a clock set back revives none', async () => {
  const { stores } = database;
  const input = {
    email: `${newId('usr')}@example.org`,
    adminKey: undefined,
    placeholderEmail: 'none@example.org',
  };
  const { owner } = await ensureOwner(stores, input, clock);
  const sessions = createSessions(stores, clock);
  const link = await makeLoginLink(stores, owner, { baseUrl: 'http://127.0.0.1', clock });
  const linkToken = new URL(link.url).searchParams.get('token')!;
  const browser = (client: string) => signInBrowser(stores, owner, { method: 'link', client }, clock);
  const ended = await browser('left alone');

  clock.advance(5 * HOUR_MS);
  const going = await browser('in use');
  clock.advance(4 * HOUR_MS);
  await forgetEndedSignIns(stores, clock);

  clock.jump(-8 * HOUR_MS);
  expect(await sessions.resolve(ended.sessionToken)).toBeUndefined();
  expect(await userOfLoginLink(stores, linkToken, clock)).toBeUndefined();
  clock.jump(8 * HOUR_MS);
  expect(await sessions.resolve(going.sessionToken)).toMatchObject({ userId: owner.id });
});

it('forgets access tokens of the command line that ended, while their session goes on', async () => {
  const { stores } = database;
  const input = { email: `${newId('usr')}@example.org`, adminKey: undefined };
  const { owner } = await ensureOwner(stores, input, clock);
  const cliSessions = createCliSessions(stores, clock);
  const { accessToken } = await openCliSession(stores, owner, 'cli', clock);
  expect(await cliSessions.resolve(accessToken)).toMatchObject({ userId: owner.id });

  clock.advance(15 * MINUTE_MS);
  await forgetEndedSignIns(stores, clock);
  clock.jump(-MINUTE_MS);
  expect(await cliSessions.resolve(accessToken)).toBeUndefined();
  clock.jump(MINUTE_MS);
});

it('keeps the latest sign-ins of command lines that wait for a person, and all that one has approved', async () => {
  const { stores } = database;
  const { owner } = await ensureOwner(
    stores,
    { email: `${newId('usr')}@example.org`, adminKey: undefined },
    clock,
  );
  const codeVerifier = 'v'.repeat(43);
  const codeChallenge = toBase64url(sha256(utf8(codeVerifier)));
  const begin = async () => {
    clock.advance(1);
    const request = { codeChallenge, redirectUri: undefined, client: 'cli', address: undefined };
    return (await beginCliLogin(stores, request, { baseUrl: 'http://127.0.0.1', clock })).requestId;
  };
  const code = await approveCliLogin(
    stores,
    { userId: owner.id, vaultId: owner.vaultId },
    await begin(),
    clock,
  );
  const begun = [await begin(), await begin(), await begin(), await begin(), await begin()];
  await forgetEndedSignIns(stores, clock, 3);

  const waiting = await Promise.all(begun.map((id) => pendingCliLogin(stores, id, clock)));
  expect(waiting.map((login) => login !== undefined)).toEqual([false, false, true, true, true]);
  const input = { code: code ?? '', codeVerifier, requestId: undefined };
  expect(await exchangeCliCode(stores, input, clock)).toMatchObject({ user: { id: owner.id } });
});
