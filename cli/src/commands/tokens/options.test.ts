import { DELIVERY, TOKEN_TYPES as SHARED_TYPES } from '@svault/shared/schemas';
import { expect, test } from 'vitest';
import { DELIVERIES, TOKEN_TYPES } from './options.ts';

test('the words of the command line are those of the protocol', () => {
  expect(TOKEN_TYPES).toEqual(SHARED_TYPES);
  expect(DELIVERIES).toEqual(DELIVERY);
});
