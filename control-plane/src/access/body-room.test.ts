import { newId } from '@svault/shared';
import { expect, it } from 'vitest';
import { createBodyRoom } from './body-room.ts';

const MIB = 1024 * 1024;
const [one, other, third] = [newId('vlt'), newId('vlt'), newId('vlt')];

it('holds 8 of the largest bodies of an account, and 32 of all', () => {
  const room = createBodyRoom();
  const accounts = Array.from({ length: 5 }, () => newId('vlt'));
  const taken = accounts.map(
    (vaultId) => Array.from({ length: 9 }, () => room.take(vaultId, 8 * MIB)).filter(Boolean).length,
  );
  expect(taken).toEqual([8, 8, 8, 8, 0]);
});

it('leaves others theirs, and takes no more than there is', () => {
  const room = createBodyRoom({ maxBytes: 10, maxBytesPerAccount: 6 });
  expect(room.take(one, 7)).toBeUndefined();
  const place = room.take(one, 6);
  expect(room.take(one, 1)).toBeUndefined();
  expect(room.take(other, 4)).toBeDefined();
  expect(room.take(third, 1)).toBeUndefined();
  // Of what was held for it, a body needs as much as it has.
  place?.keep(2);
  expect(room.take(third, 4)).toBeDefined();
  expect(room.take(third, 1)).toBeUndefined();
});

it('gets everything back once, however often it is given', () => {
  const room = createBodyRoom({ maxBytes: 6, maxBytesPerAccount: 6 });
  const place = room.take(one, 5);
  place?.keep(3);
  place?.keep(4);
  place?.close();
  place?.close();
  place?.keep(1);
  expect(room.take(other, 6)).toBeDefined();
  expect(room.take(one, 1)).toBeUndefined();
});
