import { describe, expect, it } from 'vitest';
import { readOtpauthUri } from './otpauth-uri.ts';

const SEED = 'JBSWY3DPEHPK3PXP';

describe('a key URI', () => {
  it('is parsed with all its parameters', () => {
    const uri = `otpauth://totp/ACME%20Co:john@example.com?secret=${SEED}&issuer=ACME%20Co&algorithm=SHA512&digits=8&period=60`;
    expect(readOtpauthUri(uri)).toEqual({ seed: SEED, algorithm: 'SHA512', digits: 8, period: 60 });
  });

  it.each([
    [`otpauth://totp/a?secret=${SEED}`, {}],
    [`OTPAUTH://TOTP/a?secret=${SEED.toLowerCase()}`, {}],
    [`otpauth://totp/?secret=JBSW+Y3DP-EHPK%203PXP%3D`, {}],
    [`otpauth://totp/a?image=https://x.example/?a&secret=${SEED}&algorithm=sha-256`, { algorithm: 'SHA256' }],
  ])('may have %s', (uri, said) => {
    expect(readOtpauthUri(uri)).toMatchObject({ seed: SEED, ...said });
  });

  it.each([
    ['another type', `otpauth://hotp/a?secret=${SEED}&counter=1`],
    ['another scheme', `https://totp/a?secret=${SEED}`],
    ['no seed', 'otpauth://totp/a?issuer=b'],
    ['an empty seed', 'otpauth://totp/a?secret='],
    ['a seed that is no base32', 'otpauth://totp/a?secret=secret!'],
    ['two seeds', `otpauth://totp/a?secret=${SEED}&secret=MZXW6YTB`],
    ['two periods', `otpauth://totp/a?secret=${SEED}&period=30&period=60`],
    ['another algorithm', `otpauth://totp/a?secret=${SEED}&algorithm=MD5`],
    ['an empty algorithm', `otpauth://totp/a?secret=${SEED}&algorithm=`],
    ['too few digits', `otpauth://totp/a?secret=${SEED}&digits=5`],
    ['too many digits', `otpauth://totp/a?secret=${SEED}&digits=9`],
    ['digits that are none', `otpauth://totp/a?secret=${SEED}&digits=0x6`],
    ['no time at all', `otpauth://totp/a?secret=${SEED}&period=0`],
    ['a negative period', `otpauth://totp/a?secret=${SEED}&period=-30`],
    ['a period with a fraction', `otpauth://totp/a?secret=${SEED}&period=30.5`],
    ['more than a day', `otpauth://totp/a?secret=${SEED}&period=86401`],
    ['a fragment', `otpauth://totp/a#?secret=${SEED}`],
    ['no label', `otpauth://totp?secret=${SEED}`],
    ['a text around it', ` otpauth://totp/a?secret=${SEED}`],
  ])('is rejected with %s', (_what, uri) => {
    expect(readOtpauthUri(uri)).toBeUndefined();
  });
});
