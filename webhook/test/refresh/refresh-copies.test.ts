/**
 * One refresh token in several versions of a record: stored twice, or brought back by a restore (PROTOCOL.md section
 * 7).
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TokenPair } from '@svault/test-kit/token-endpoint';
import { type RefreshBench, refreshBench } from '../support/refresh-bench.ts';
import { command } from '../support/run-webhook.ts';

let bench: RefreshBench;
beforeAll(async () => {
  bench = await refreshBench();
});
afterAll(() => bench.close());
beforeEach(() => bench.provider.misbehave(undefined));

const SHARED = { body: { shareRefreshToken: true } };
/** The same pair once more, with other restrictions. */
const storeAgain = (name: string, pair: TokenPair): Promise<TokenPair> =>
  bench.store(name, { body: { ...pair, shareRefreshToken: true, allowedHosts: ['api.test'] } });
const restore = async (...args: string[]): Promise<void> =>
  expect(await command(bench.webhook, 'restore', ...args)).toMatchObject({ code: 0 });
const isGoodNow = async (name: string): Promise<boolean> => {
  const { json } = await bench.webhook.credential(name);
  return bench.provider.isGood(json.token?.refreshToken ?? '');
};
const whileRefreshing = async (name: string, change: () => Promise<unknown>): Promise<void> => {
  const { provider } = bench;
  const gate = provider.hold();
  const before = provider.calls.length;
  const fetched = bench.fetch(name);
  await provider.arrived(before + 1);
  await change();
  gate.release();
  await fetched;
};

describe('a spent refresh token is in no version that can be restored', () => {
  it('of a version replaced by one with the same token', async () => {
    await storeAgain('twice', await bench.store('twice', SHARED));
    expect(bench.provider.gave(await bench.fetch('twice'))).toBe(true);
    await restore('twice');
    expect(await isGoodNow('twice')).toBe(true);
  });

  it('of a version restored before the refresh', async () => {
    await bench.store('thrice', SHARED);
    await bench.store('thrice', SHARED);
    await restore('thrice');
    expect(bench.provider.gave(await bench.fetch('thrice'))).toBe(true);
    const { stderr } = await command(bench.webhook, 'restore', 'thrice', '999');
    const kept = /kept are ([0-9, ]+)/.exec(stderr)?.[1]?.split(', ') ?? [];
    expect(kept).toHaveLength(2);
    for (const version of kept) {
      await restore('thrice', version);
      expect(await isGoodNow('thrice')).toBe(true);
    }
  });

  it('of a version restored or stored while the provider is called', async () => {
    const { webhook } = bench;
    await bench.store('meanwhile', SHARED);
    await whileRefreshing('meanwhile', async () => {
      await webhook.storage({ op: 'tokens.delete', serviceName: 'meanwhile' });
      await restore('meanwhile');
    });
    expect(await isGoodNow('meanwhile')).toBe(true);
    const calls = bench.provider.calls.length;
    const pair = await bench.store('anew', SHARED);
    await whileRefreshing('anew', () => storeAgain('anew', pair));
    expect(await isGoodNow('anew')).toBe(true);
    expect((await bench.metadata('anew')).allowedHosts).toEqual(['api.test']);
    expect(bench.provider.calls.length).toBe(calls + 1);
  });
});

it('storing a known refresh token during a refresh, without the client’s secret, gains nothing', async () => {
  const { provider, webhook } = bench;
  const { refreshToken } = await bench.store('closed', {
    expiresIn: 7_200,
    body: { delivery: 'proxy-only' },
  });
  const gate = provider.hold();
  const before = provider.calls.length;
  const notified = bench.notify('closed');
  await provider.arrived(before + 1);
  await bench.store('closed', {
    expiresIn: 7_200,
    body: { accessToken: 'mine', refreshToken, ...SHARED.body },
    provider: { clientSecret: undefined },
  });
  gate.release();
  await notified;
  const { json } = await webhook.credential('closed');
  expect(json.token).toMatchObject({ accessToken: 'mine', refreshToken });
});

it('a version that was refreshed after its replacement is not restored before later ones', async () => {
  await bench.store('older', SHARED);
  const later = { accessToken: '' };
  await whileRefreshing('older', async () =>
    Object.assign(later, await bench.store('older', { expiresIn: 900 })),
  );
  await bench.store('older', { expiresIn: 900 });
  await restore('older');
  expect(await bench.fetch('older')).toBe(later.accessToken);
});

it('a rejection of the former token does not apply to one that was stored in the meantime', async () => {
  const { provider } = bench;
  const spent = await bench.store('reauthorised', SHARED);
  // Somebody else used it.
  await bench.store('thief', { body: spent });
  await bench.fetch('thief');
  const gate = provider.hold();
  const before = provider.calls.length;
  const former = bench.fetch('reauthorised');
  await provider.arrived(before + 1);
  await bench.store('reauthorised', SHARED);
  const fetched = bench.fetch('reauthorised');
  const notified = bench.notify('reauthorised');
  // Both have arrived before the provider answers.
  await bench.metadata('reauthorised');
  gate.release();
  expect(await former).toBe('REAUTH_NEEDED');
  expect(provider.gave(await fetched)).toBe(true);
  expect((await notified).json.outcome).toBe('refreshed');
});
