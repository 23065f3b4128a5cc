import { ManualClock, formatTime, newId } from '@svault/shared';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { beginCliLogin, pendingCliLogin } from '../../src/sign-in/cli/login.ts';
import { noteClientAsked, noteClientUse } from '../../src/authorization-server/clients.ts';
import { evictNeverUsed, registerClient } from '../../src/authorization-server/registration.ts';
import type { Database } from '../../src/store/database.ts';
import { type StorePlace, makeStorePlace } from './open-store.ts';

let place: StorePlace;
let database: Database;
let clock: ManualClock;
beforeEach(async () => {
  place = await makeStorePlace();
  database = await place.open();
  clock = new ManualClock();
});
afterEach(async () => {
  await database.close();
  await place.remove();
});

const SMALL = { redirect_uris: ['http://localhost/cb'] };
const LARGE = { redirect_uris: [1, 2, 3].map((n) => `https://flood.example/${n}${'x'.repeat(900)}`) };
const MAX_BYTES = 100_000;

async function register(address: string, metadata: Record<string, unknown> = SMALL) {
  clock.advance(1);
  const client = await registerClient(database.stores, metadata, { clock, address });
  if ('error' in client) throw new Error(client.error_description);
  return client.id;
}
/** Registers and evicts, as each registration does, with a smaller limit than in production. */
async function flood(addressOf: (n: number) => string, count: number, metadata?: Record<string, unknown>) {
  const ids = [];
  for (let n = 0; n < count; n += 1) {
    ids.push(await register(addressOf(n), metadata));
    await evictNeverUsed(database.stores, clock, MAX_BYTES);
  }
  return ids;
}
const known = async (ids: readonly Awaited<ReturnType<typeof register>>[]): Promise<number> => {
  const found = await Promise.all(ids.map((id) => database.stores.oauthClients.find(id)));
  return found.filter((client) => client !== undefined).length;
};
const heldBytes = async (): Promise<number> => {
  const rows = await database.kysely.selectFrom('oauth_clients').select('bytes').execute();
  return rows.reduce((sum, { bytes }) => sum + bytes, 0);
};

describe('OAuth clients without a use', () => {
  test('are evicted from the largest address group first, whatever their age', async () => {
    const pending = await register('198.51.100.7');
    const pendingIpv6 = await register('2001:db8:1:2::3');
    await flood((n) => `203.0.113.${n % 256}`, 150, LARGE);
    await flood((n) => `2001:db8:ffff:${n.toString(16)}::1`, 150, LARGE);
    expect(await known([pending, pendingIpv6])).toBe(2);
    expect(await heldBytes()).toBeLessThanOrEqual(MAX_BYTES);
  });

  test('survive a flood from their address group while a person is asked about them, and once approved', async () => {
    const [asked, used] = [await register('203.0.113.1'), await register('203.0.113.2')];
    await noteClientAsked(database.stores, asked, clock);
    clock.advance(1);
    await noteClientUse(database.stores, used, clock);
    await flood((n) => `203.0.113.${n % 256}`, 150, LARGE);
    expect(await known([asked, used])).toBe(2);
  });

  test('survive a flood from many address groups while a person is asked about them', async () => {
    const asked = await register('198.51.100.7');
    await noteClientAsked(database.stores, asked, clock);
    const others = await flood((n) => `10.${n >> 8}.${n % 256}.1`, 400);
    expect(await known([asked])).toBe(1);
    expect(await known(others)).toBeGreaterThan(50);
    expect(await known(others.slice(-50))).toBe(50);
    expect(await heldBytes()).toBeLessThanOrEqual(MAX_BYTES);
  });

  test('are evicted an hour after a person was asked, where there is no room', async () => {
    const asked = await register('203.0.113.1');
    await noteClientAsked(database.stores, asked, clock);
    clock.advance(3_600_001);
    await flood((n) => `203.0.113.${n % 256}`, 150, LARGE);
    expect(await known([asked])).toBe(0);
  });
});

test('registerClient makes room in 8 MiB among the clients that were never used', async () => {
  const waiting = await register('198.51.100.7');
  const redirectUris = ['x'.repeat(1024 * 1024)];
  for (let n = 0; n < 9; n += 1) {
    const client = { name: 'n', redirectUris, createdAt: formatTime(clock.now()) };
    await database.stores.oauthClients.add({ ...client, id: newId('ocl'), uri: undefined }, '203.0.113');
  }
  const newest = await register('198.51.100.8');
  expect(await heldBytes()).toBeLessThanOrEqual(8 * 1024 * 1024);
  expect(await heldBytes()).toBeGreaterThan(6 * 1024 * 1024);
  expect(await known([waiting, newest])).toBe(2);
});

describe('command-line sign-ins that wait for approval', () => {
  const begin = async (address: string) => {
    clock.advance(1);
    const request = { codeChallenge: 'c'.repeat(43), redirectUri: undefined, client: 'cli', address };
    return (await beginCliLogin(database.stores, request, { baseUrl: 'http://127.0.0.1', clock })).requestId;
  };

  test('are evicted from the largest address group first, and never while a person is asked', async () => {
    const [waiting, asked] = [await begin('198.51.100.7'), await begin('203.0.113.9')];
    expect(await pendingCliLogin(database.stores, asked, clock)).toBeDefined();
    const flooding = [];
    for (let n = 0; n < 100; n += 1) {
      flooding.push(await begin(`203.0.113.${n}`));
      await database.stores.cliLogins.evictWaiting({ maxBytes: 20_000, askedSince: '' });
    }
    const left = await Promise.all(flooding.map((id) => pendingCliLogin(database.stores, id, clock)));
    expect(left.filter((login) => login !== undefined).length).toBeLessThan(50);
    expect(await pendingCliLogin(database.stores, waiting, clock)).toBeDefined();
    expect(await pendingCliLogin(database.stores, asked, clock)).toBeDefined();
    expect(await pendingCliLogin(database.stores, newId('clr'), clock)).toBeUndefined();
  });
});
