import { expect, it } from 'vitest';
import { AppError } from '@svault/shared';
import { jwkThumbprint as thumbprint } from '@svault/shared/sealed';
import type { SealedSettings } from '../vault/record.ts';
import { chooseOutlet } from './outlet.ts';

const RECIPIENT = { kty: 'EC', crv: 'P-256', x: 'x'.repeat(43), y: 'y'.repeat(43) } as const;
const jkt = thumbprint(RECIPIENT);
const plain: SealedSettings = {
  tokenType: 'JWT',
  delivery: 'any',
  allowedHosts: [],
  allowedHeaders: [],
  hasRefreshToken: false,
  empty: false,
};
const sealed: SealedSettings = { ...plain, delivery: 'sealed', recipients: [RECIPIENT] };

const outletOf = (...[settings, ticket]: Parameters<typeof chooseOutlet>): string => {
  try {
    return chooseOutlet(settings, ticket).how;
  } catch (error) {
    return error instanceof AppError ? error.code : 'another error';
  }
};

it.each([
  ['any', plain, undefined, 'plain'],
  ['any, whatever key the ticket names', plain, jkt, 'plain'],
  ['proxy-only', { ...plain, delivery: 'proxy-only' }, undefined, 'DELIVERY_NOT_ALLOWED'],
  ['sealed, its recipient', sealed, jkt, 'sealed'],
  ['sealed, nobody named', sealed, undefined, 'DELIVERY_NOT_ALLOWED'],
  ['sealed, somebody else named', sealed, 'z'.repeat(43), 'DELIVERY_NOT_ALLOWED'],
  ['sealed, without recipients', { ...sealed, recipients: undefined }, jkt, 'DELIVERY_NOT_ALLOWED'],
  ['empty and closed', { ...plain, delivery: 'proxy-only', empty: true }, undefined, 'DELIVERY_NOT_ALLOWED'],
] as const)('%s', (_what, settings, named, expected) => {
  expect(outletOf(settings, named === undefined ? {} : { cnf: { jkt: named } })).toBe(expected);
});
