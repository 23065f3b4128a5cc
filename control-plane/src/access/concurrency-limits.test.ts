import { newId } from '@svault/shared';
import { expect, it } from 'vitest';
import { createBodyMemory, createOpenStreams } from './concurrency-limits.ts';

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

const MIB = 1024 * 1024;
const [one, other, third] = [newId('vlt'), newId('vlt'), newId('vlt')];

it('holds 8 of the largest bodies of an account, and 32 of all', () => {
  const memory = createBodyMemory();
  const accounts = Array.from({ length: 5 }, () => newId('vlt'));
  const taken = accounts.map(
    (vaultId) => Array.from({ length: 9 }, () => memory.reserve(vaultId, 8 * MIB)).filter(Boolean).length,
  );
  expect(taken).toEqual([8, 8, 8, 8, 0]);
});

it('leaves others theirs, and takes no more than there is', () => {
  const memory = createBodyMemory({ maxBytes: 10, maxBytesPerAccount: 6 });
  expect(memory.reserve(one, 7)).toBeUndefined();
  const place = memory.reserve(one, 6);
  expect(memory.reserve(one, 1)).toBeUndefined();
  expect(memory.reserve(other, 4)).toBeDefined();
  expect(memory.reserve(third, 1)).toBeUndefined();
  // Of what was held for it, a body needs as much as it has.
  place?.keep(2);
  expect(memory.reserve(third, 4)).toBeDefined();
  expect(memory.reserve(third, 1)).toBeUndefined();
});

it('gets everything back once, however often it is given', () => {
  const memory = createBodyMemory({ maxBytes: 6, maxBytesPerAccount: 6 });
  const place = memory.reserve(one, 5);
  place?.keep(3);
  place?.keep(4);
  place?.close();
  place?.close();
  place?.keep(1);
  expect(memory.reserve(other, 6)).toBeDefined();
  expect(memory.reserve(one, 1)).toBeUndefined();
});
