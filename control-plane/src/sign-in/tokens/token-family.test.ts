import { fromBase64url } from '@svault/shared';
import { expect, it } from 'vitest';
import { createTokenFamilies } from './token-family.ts';

const families = createTokenFamilies({ name: 'a', access: 'svsess', refresh: 'svsessr' });
const partsOf = (token: string): readonly [family: string, secret: string] => {
  const bytes = Buffer.from(fromBase64url(token.slice(token.indexOf('_') + 1)) ?? []);
  return [bytes.toString('hex', 0, 16), bytes.toString('hex', 16)];
};

it('makes pairs of one family, and each token has another secret', () => {
  const pairs = [families.issue()];
  for (let n = 0; n < 5; n++) pairs.push(families.rotate(pairs.at(-1)?.refreshToken ?? '', `seed ${n}`));
  const parts = pairs.flatMap(({ accessToken, refreshToken }) => [
    partsOf(accessToken),
    partsOf(refreshToken),
  ]);
  expect(new Set(parts.map(([family]) => family)).size).toBe(1);
  expect(new Set(parts.map(([, secret]) => secret)).size).toBe(12);
  expect(partsOf(families.issue().accessToken)[0]).not.toBe(parts[0]?.[0]);
  for (const { accessToken, refreshToken } of pairs) {
    expect([families.isAccessToken(accessToken), families.isRefreshToken(refreshToken)]).toEqual([
      true,
      true,
    ]);
    expect([families.isAccessToken(refreshToken), families.isRefreshToken(accessToken)]).toEqual([
      false,
      false,
    ]);
  }
  const hashes = pairs.flatMap(({ accessToken, refreshToken }) =>
    [accessToken, refreshToken].map(families.familyHashOf),
  );
  expect(new Set(hashes).size).toBe(1);
});

it('rotates the same token and seed to the same pair, and any other to another', () => {
  const { refreshToken } = families.issue();
  const next = families.rotate(refreshToken, 'seed');
  expect(families.rotate(refreshToken, 'seed')).toEqual(next);
  expect(families.rotate(refreshToken, 'another')).not.toEqual(next);
  expect(families.rotate(next.refreshToken, 'seed').refreshToken).not.toBe(next.refreshToken);
});

it('gives the same bytes another family hash for another kind of session', () => {
  const other = createTokenFamilies({ name: 'b', access: 'svcli', refresh: 'svclir' });
  const { accessToken } = families.issue();
  expect(other.familyHashOf(accessToken.replace('svsess', 'svcli'))).not.toBe(
    families.familyHashOf(accessToken),
  );
});
