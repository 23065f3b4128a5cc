import { expect, it } from 'vitest';
import { formatTime } from '@svault/shared';
import type { SealedSettings } from '../vault/record.ts';
import { thumbprint } from '../vault/recipients.ts';
import { decideDelivery } from './delivery-decision.ts';

const NOW_MS = Date.UTC(2026, 0, 1);
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
const provider = { tokenUrl: 'https://p.test', clientId: 'c', authMethod: 'none', mediated: false } as const;
const expired = { ...plain, expiryTime: formatTime(NOW_MS + 30_000), hasRefreshToken: true };

it.each([
  ['no record', undefined, undefined, 'NOT_FOUND'],
  ['any', plain, undefined, 'plain'],
  ['any, whatever key the ticket names', plain, jkt, 'plain'],
  ['proxy-only', { ...plain, delivery: 'proxy-only' }, undefined, 'DELIVERY_NOT_ALLOWED'],
  ['sealed, its recipient', sealed, jkt, 'sealed'],
  ['sealed, nobody named', sealed, undefined, 'DELIVERY_NOT_ALLOWED'],
  ['sealed, somebody else named', sealed, 'z'.repeat(43), 'DELIVERY_NOT_ALLOWED'],
  ['sealed, without recipients', { ...sealed, recipients: undefined }, jkt, 'DELIVERY_NOT_ALLOWED'],
  ['empty', { ...plain, empty: true }, undefined, 'EMPTY_TOKEN'],
  ['empty and closed', { ...plain, delivery: 'proxy-only', empty: true }, undefined, 'DELIVERY_NOT_ALLOWED'],
  ['expired, nobody can refresh', expired, undefined, 'plain'],
  ['expired, without refresh token', { ...expired, provider, hasRefreshToken: false }, undefined, 'plain'],
  [
    'expired, the service can refresh',
    { ...expired, provider: { ...provider, mediated: true } },
    undefined,
    'REFRESH_NEEDED',
  ],
  ['expired, the webhook could refresh', { ...expired, provider }, undefined, 'PROVIDER_ERROR'],
  [
    '31 s before expiry',
    { ...expired, provider, expiryTime: formatTime(NOW_MS + 30_001) },
    undefined,
    'plain',
  ],
] as const)('%s', (_what, settings, named, expected) => {
  const ticket = named === undefined ? {} : { cnf: { jkt: named } };
  const decision = decideDelivery(settings, ticket, NOW_MS);
  expect(decision.how === 'refused' ? decision.code : decision.how).toBe(expected);
});
