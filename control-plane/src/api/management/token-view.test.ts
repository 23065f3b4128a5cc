import { newId } from '@svault/shared';
import { expect, it } from 'vitest';
import type { WebhookToken } from '../../webhook/token-metadata.ts';
import { toTokenView } from './token-view.ts';

const AT = '2026-11-20T12:00:00.000Z';
const token = {
  ...({ vaultId: newId('vlt'), serviceName: 'github', tokenType: 'JWT', displayName: 'GitHub' } as const),
  ...{ description: '', notes: '', tags: [], createdAt: AT, updatedAt: AT },
};
const failing = { version: 3, failures: 2, nextAt: AT };
const shown = (refresh: typeof failing | undefined, version: number | undefined): unknown => {
  const webhook = version === undefined ? undefined : ({ version, updatedAt: AT } as WebhookToken);
  return toTokenView(token, { refresh, webhook }).refresh;
};

it('a token says how often its refresh failed until a refresh succeeds or it is stored anew', () => {
  expect(shown(failing, 3)).toEqual({ failures: 2, nextAt: AT });
  expect(shown(failing, undefined)).toEqual({ failures: 2, nextAt: AT });
  expect(shown(failing, 4)).toBeUndefined();
  expect(shown({ ...failing, failures: 0 }, 3)).toBeUndefined();
  expect(shown(undefined, 3)).toBeUndefined();
});
