import { newId } from '@svault/shared';
import { expect, it } from 'vitest';
import { createOpenStreams } from './open-streams.ts';

const vaultId = newId('vlt');
const proxyOf = (account = vaultId) => ({ vaultId: account, proxyId: newId('prx') });

it('gives each proxy 64 places, and each place once', () => {
  const streams = createOpenStreams();
  const [one, other] = [proxyOf(), proxyOf()];
  const open = Array.from({ length: 64 }, () => streams.open(one));
  expect(open).not.toContain(undefined);
  expect(streams.open(one)).toBeUndefined();
  expect(streams.open(other)).toBeDefined();
  // Twice closed is closed once.
  open[0]?.close();
  open[0]?.close();
  expect(streams.open(one)).toBeDefined();
  expect(streams.open(one)).toBeUndefined();
});

it('gives an account 4,096, however many proxies it has, and others theirs', () => {
  const streams = createOpenStreams();
  const proxies = Array.from({ length: 65 }, () => proxyOf());
  const open = proxies.flatMap((proxy) => Array.from({ length: 64 }, () => streams.open(proxy)));
  expect(open.filter(Boolean)).toHaveLength(4_096);
  expect(streams.open(proxyOf(newId('vlt')))).toBeDefined();
  open[0]?.close();
  expect(streams.open(proxyOf())).toBeDefined();
  expect(streams.open(proxyOf())).toBeUndefined();
});
