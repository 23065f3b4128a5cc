import { ManualClock, formatTime, newId } from '@svault/shared';
import { beforeEach, describe, expect, test } from 'vitest';
import { evictUnusedClients, noteClientUse } from '../../src/authorization-server/clients.ts';
import type { RegisteredClient } from '../../src/core/oauth-client.ts';
import { registerClient } from '../../src/authorization-server/registration.ts';
import type { Database } from '../../src/store/database.ts';
import { useStore } from './open-store.ts';

const DAY_MS = 24 * 3_600_000;

let database: Database;
let clock: ManualClock;
let years = 2030;
useStore((opened) => (database = opened));
// Each test uses different years, so that none sees the clients of another.
beforeEach(() => {
  clock = new ManualClock(Date.UTC((years += 10), 0, 1));
});

async function registered(): Promise<RegisteredClient> {
  clock.advance(1);
  const client = await registerClient(
    database.stores,
    { redirect_uris: ['http://localhost/cb'] },
    { clock, address: undefined },
  );
  if ('error' in client) throw new Error(client.error_description);
  return client;
}
const has = async ({ id }: RegisteredClient): Promise<boolean> =>
  (await database.stores.oauthClients.find(id)) !== undefined;
const forget = () => evictUnusedClients(database.stores, clock);
const use = ({ id }: RegisteredClient) => noteClientUse(database.stores, id, clock);
/** Deletes clients whose last use is at a time or earlier. */
const forgetUsedUntil = (ms: number) =>
  database.stores.oauthClients.removeUnused({ lastUsedAt: formatTime(ms), neverUsedSince: '' });

describe('oauthClients', () => {
  test('stores every member of a registration', async () => {
    const client: RegisteredClient = {
      id: newId('ocl'),
      name: '名前 "quoted"',
      uri: 'https://app.example/',
      redirectUris: ['https://app.example/cb?x=1', 'cursor://host/cb'],
      createdAt: formatTime(clock.now()),
    };
    await database.stores.oauthClients.add(client, 'unknown');
    expect(await database.stores.oauthClients.find(client.id)).toEqual(client);
    const nameless = { ...client, id: newId('ocl'), uri: undefined } as RegisteredClient;
    await database.stores.oauthClients.add(nameless, 'unknown');
    expect(await database.stores.oauthClients.find(nameless.id)).toEqual(nameless);
    expect(await database.stores.oauthClients.find(newId('ocl'))).toBeUndefined();
  });

  test('records the first use, and then one use a day', async () => {
    const [daily, oftener] = [await registered(), await registered()];
    clock.advance(1_000);
    const first = clock.now();
    await use(daily);
    await use(oftener);
    clock.advance(DAY_MS - 1);
    await use(oftener);
    clock.advance(1);
    await use(daily);
    await forgetUsedUntil(first - 1);
    expect([await has(daily), await has(oftener)]).toEqual([true, true]);
    await forgetUsedUntil(first);
    expect([await has(daily), await has(oftener)]).toEqual([true, false]);
    await forgetUsedUntil(first + DAY_MS);
    expect(await has(daily)).toBe(false);
  });

  test('deletes a client that was never used after 30 days, and a used one 180 days after its last use', async () => {
    const [never, once] = [await registered(), await registered()];
    clock.advance(1_000);
    await use(once);
    clock.advance(30 * DAY_MS - 1_002);
    await forget();
    expect([await has(never), await has(once)]).toEqual([true, true]);
    clock.advance(1_000);
    await forget();
    expect([await has(never), await has(once)]).toEqual([false, true]);
    clock.advance(150 * DAY_MS - 1_000);
    await forget();
    expect(await has(once)).toBe(true);
    clock.advance(1_002);
    await forget();
    expect(await has(once)).toBe(false);
  });
});
