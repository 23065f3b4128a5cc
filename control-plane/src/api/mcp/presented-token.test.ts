import type { IncomingMessage } from 'node:http';
import { hashKey, newKey } from '@svault/shared';
import { expect, it } from 'vitest';
import { presentedToken } from './presented-token.ts';

const AUDIENCE = 'https://vault.example.com/api/agents/mcp';

const presented = (...values: string[]) =>
  presentedToken(
    {
      headers: { authorization: values[0] },
      rawHeaders: values.flatMap((value) => ['Authorization', value]),
    } as unknown as IncomingMessage,
    AUDIENCE,
  );

it('is an agent’s key, or a session’s access token for this audience', () => {
  const [key, token] = [newKey('svagent'), newKey('svsess')];
  expect(presented(`bEARER   ${key}`)).toEqual({
    kind: 'credential',
    credential: { kind: 'key', hash: hashKey(key) },
  });
  expect(presented(`Bearer ${token}`)).toEqual({
    kind: 'credential',
    credential: { kind: 'session', hash: hashKey(token), audience: AUDIENCE },
  });
});

it.each(['Basic eA==', 'Bearerer x', 'svagent_x', ''])('%j shows none', (value) => {
  expect(presented(value)).toEqual({ kind: 'missing' });
  expect(presented()).toEqual({ kind: 'missing' });
});

it.each(['Bearer', 'Bearer ', 'Bearer x', `Bearer ${newKey('svadmin')}`, `Bearer ${newKey('svsessr')}`])(
  '%j is malformed',
  (value) => expect(presented(value)).toEqual({ kind: 'malformed' }),
);

it('is malformed where two are shown', () => {
  const key = `Bearer ${newKey('svagent')}`;
  expect(presented(key, key)).toEqual({ kind: 'malformed' });
});
