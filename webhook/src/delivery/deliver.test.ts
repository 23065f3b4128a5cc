import { expect, it } from 'vitest';
import { AppError } from '@svault/shared';
import { jwkThumbprint } from '@svault/shared/sealed';
import type { SealedSettings } from '../vault/record.ts';
import { deliveryModeOf } from './deliver.ts';

const RECIPIENT = { kty: 'EC', crv: 'P-256', x: 'x'.repeat(43), y: 'y'.repeat(43) } as const;
const jkt = jwkThumbprint(RECIPIENT);
const plain: SealedSettings = {
  tokenType: 'JWT',
  delivery: 'any',
  allowedHosts: [],
  allowedHeaders: [],
  hasRefreshToken: false,
  empty: false,
};
const sealed: SealedSettings = { ...plain, delivery: 'sealed', recipients: [RECIPIENT] };

const modeOf = (...[settings, ticket]: Parameters<typeof deliveryModeOf>): string => {
  try {
    return deliveryModeOf(settings, ticket).how;
  } catch (error) {
    return error instanceof AppError ? error.code : 'another error';
  }
};

it.each([
  ['any', plain, undefined, 'plain'],
  ['any, and the ticket names a key', plain, jkt, 'plain'],
  ['proxy-only', { ...plain, delivery: 'proxy-only' }, undefined, 'DELIVERY_NOT_ALLOWED'],
  ['sealed, and the ticket names its recipient', sealed, jkt, 'sealed'],
  ['sealed, and the ticket names no recipient', sealed, undefined, 'DELIVERY_NOT_ALLOWED'],
  ['sealed, and the ticket names another key', sealed, 'z'.repeat(43), 'DELIVERY_NOT_ALLOWED'],
  ['sealed, without recipients', { ...sealed, recipients: undefined }, jkt, 'DELIVERY_NOT_ALLOWED'],
  [
    'proxy-only, with an empty secret',
    { ...plain, delivery: 'proxy-only', empty: true },
    undefined,
    'DELIVERY_NOT_ALLOWED',
  ],
] as const)(
  'The delivery mode of a record with delivery %s is right',
  (_delivery, settings, named, expected) => {
    expect(modeOf(settings, named === undefined ? {} : { cnf: { jkt: named } })).toBe(expected);
  },
);
