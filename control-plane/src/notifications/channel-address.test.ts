import { createMasterKeys } from '@svault/server-kit/master-keys';
import { newId } from '@svault/shared';
import { expect, it } from 'vitest';
import type { StoredChannel } from '../core/notification.ts';
import { openAddress, wrapAddress } from './channel-address.ts';

const keys = createMasterKeys([new Uint8Array(32)]);
const bound = { id: newId('nch'), vaultId: newId('vlt'), type: 'slack' } as const;
const address = { url: 'https://hooks.example.com/x' };
const stored = {
  ...{ ...bound, name: 'n', target: 't', userId: undefined, createdAt: 't' },
  ...{ lastDeliveredAt: undefined, lastFailedAt: undefined, lastError: undefined },
  addressWrapped: wrapAddress(bound, address, keys),
} satisfies StoredChannel;

it('opens an address in the row of its own channel', () => {
  expect(openAddress(stored, keys)).toEqual(address);
});

it.each([
  ['channel', { id: newId('nch') }],
  ['account', { vaultId: newId('vlt') }],
  ['type', { type: 'push' }],
] as const)('does not open one that was copied to another %s', (_what, other) => {
  expect(() => openAddress({ ...stored, ...other }, keys)).toThrow(
    expect.objectContaining({ name: 'AeadFailed' }),
  );
});
