import { ManualClock, sha256, toBase64url, utf8 } from '@svault/shared';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ensureOwner } from '../../src/sign-in/bootstrap.ts';
import { makeLoginLink, signInByLink } from '../../src/sign-in/login-link.ts';
import type { User } from '../../src/core/user.ts';
import { approveCliLogin, beginCliLogin, exchangeCliCode } from '../../src/sign-in/cli/login.ts';
import type { Database } from '../../src/store/database.ts';
import { type StorePlace, useStore } from '../store/open-store.ts';

/*
 * Every transaction locks the account first. A sign-in that locked its link while it waits for the account would deadlock
 * with a transaction that deletes the user's links.
 */

const clock = new ManualClock();
const baseUrl = 'http://127.0.0.1:8080';

let place: StorePlace;
let database: Database;
let owner: User;
let holder: pg.Client;
useStore((opened, at) => ([database, place] = [opened, at]), clock);
beforeAll(async () => {
  const settings = { email: 'owner@example.org', adminKey: undefined };
  ({ owner } = await ensureOwner(database.stores, settings, clock));
  if (place.address.kind !== 'postgres') throw new Error('this is about PostgreSQL');
  holder = new pg.Client({ connectionString: place.address.url.reveal() });
  await holder.connect();
});
afterAll(async () => {
  await holder.end();
});

const WAITING =
  "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";

/** Deletes the owner's rows of a table while a sign-in waits for the account. */
async function takenMeanwhile<T>(table: 'login_links' | 'cli_logins', signIn: () => Promise<T>): Promise<T> {
  await holder.query('BEGIN');
  await holder.query("SET LOCAL lock_timeout = '500ms'");
  await holder.query('SELECT svault_lock($1)', [owner.vaultId]);
  const signedIn = signIn();
  await expect.poll(async () => (await holder.query(WAITING)).rowCount).toBe(1);
  await holder.query(`DELETE FROM ${table} WHERE user_id = $1`, [owner.id]).catch(async (error: unknown) => {
    await holder.query('ROLLBACK');
    await signedIn;
    throw error;
  });
  await holder.query('COMMIT');
  return signedIn;
}

it('a sign-in link is consumed under the lock of its account', async () => {
  const { stores, unitOfWork } = database;
  const { url } = await makeLoginLink(stores, owner, { baseUrl, clock });
  const token = new URL(url).searchParams.get('token') ?? '';
  const signIn = () => signInByLink({ stores, unitOfWork }, { token, client: '' }, clock);
  expect(await takenMeanwhile('login_links', signIn)).toBeUndefined();
});

it('a CLI code is consumed under the lock of its account', async () => {
  const { stores, unitOfWork } = database;
  const codeVerifier = 'v'.repeat(43);
  const codeChallenge = toBase64url(sha256(utf8(codeVerifier)));
  const request = { codeChallenge, redirectUri: undefined, client: 'test', address: undefined };
  const { requestId } = await beginCliLogin(stores, request, { baseUrl, clock });
  const actor = { userId: owner.id, vaultId: owner.vaultId };
  const code = (await approveCliLogin(stores, actor, requestId, clock)) ?? '';
  const input = { code, codeVerifier, requestId };
  const signIn = () => unitOfWork.runAcross((inside) => exchangeCliCode(inside, input, clock));
  expect(await takenMeanwhile('cli_logins', signIn)).toBeUndefined();
});
