import { newId } from '@svault/shared';
import { expect, it } from 'vitest';
import { createBodyMemory, createOpenStreams } from './concurrency-limits.ts';

const vaultId = newId('vlt');
const proxyOf = (account = vaultId) => ({ vaultId: account, proxyId: newId('prx') });

it('a proxy has 64 streams, and a stream that is closed twice is closed once', () => {
  const streams = createOpenStreams();
  const [one, other] = [proxyOf(), proxyOf()];
  const open = Array.from({ length: 64 }, () => streams.open(one));
  expect(open).not.toContain(undefined);
  expect(streams.open(one)).toBeUndefined();
  expect(streams.open(other)).toBeDefined();
  open[0]?.close();
  open[0]?.close();
  expect(streams.open(one)).toBeDefined();
  expect(streams.open(one)).toBeUndefined();
});

it('the proxies of an account have 4,096 streams together, whatever another account has', () => {
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

it('8 of the largest bodies of an account fit into memory, and 32 of all accounts', () => {
  const memory = createBodyMemory();
  const accounts = Array.from({ length: 5 }, () => newId('vlt'));
  const taken = accounts.map(
    (vaultId) => Array.from({ length: 9 }, () => memory.reserve(vaultId, 8 * MIB)).filter(Boolean).length,
  );
  expect(taken).toEqual([8, 8, 8, 8, 0]);
});

it('an account leaves room for others, and a body keeps no more than its size', () => {
  const memory = createBodyMemory({ maxBytes: 10, maxBytesPerAccount: 6 });
  expect(memory.reserve(one, 7)).toBeUndefined();
  const reservation = memory.reserve(one, 6);
  expect(memory.reserve(one, 1)).toBeUndefined();
  expect(memory.reserve(other, 4)).toBeDefined();
  expect(memory.reserve(third, 1)).toBeUndefined();
  reservation?.keep(2);
  expect(memory.reserve(third, 4)).toBeDefined();
  expect(memory.reserve(third, 1)).toBeUndefined();
});

it('memory is released once, however often a reservation is closed', () => {
  const memory = createBodyMemory({ maxBytes: 6, maxBytesPerAccount: 6 });
  const reservation = memory.reserve(one, 5);
  reservation?.keep(3);
  reservation?.keep(4);
  reservation?.close();
  reservation?.close();
  reservation?.keep(1);
  expect(memory.reserve(other, 6)).toBeDefined();
  expect(memory.reserve(one, 1)).toBeUndefined();
});
