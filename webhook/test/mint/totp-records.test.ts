import { describe, expect, it } from 'vitest';
import { SEED, useMintingFixture } from '../support/minting-fixture.ts';

const fixture = useMintingFixture();
const { stored, delivered, expectNoLeaks } = fixture;

describe('a TOTP record', () => {
  // spec: A TOTP token returns the current one-time code as accessToken.
  it('delivers the code of the moment and for how long it holds', async () => {
    await stored('otp', { tokenType: 'TOTP', secret: 'jbsw y3dp-ehpk 3pxp==' });
    fixture.webhook.clock.advance(30_000 - (fixture.webhook.clock.now() % 30_000) + 4_000);
    const first = await delivered('otp');
    expect(first).toMatchObject({ tokenType: 'TOTP', expiresIn: 26 });
    expect(first.accessToken).toMatch(/^\d{6}$/);
    fixture.webhook.clock.advance(25_999);
    expect(await delivered('otp')).toMatchObject({ accessToken: first.accessToken, expiresIn: 1 });
    fixture.webhook.clock.advance(1);
    const next = await delivered('otp');
    expect(next.expiresIn).toBe(30);
    expect(next.accessToken).not.toBe(first.accessToken);
  });

  it('gives the same codes whether it was stored as a URI or in members', async () => {
    await stored('by uri', {
      tokenType: 'TOTP',
      otpauthUri: `otpauth://totp/a:b?secret=${SEED}&algorithm=SHA512&digits=8&period=77&issuer=a`,
    });
    await stored('by members', {
      tokenType: 'TOTP',
      secret: SEED,
      algorithm: 'SHA512',
      digits: 8,
      period: 77,
    });
    const token = await delivered('by uri');
    expect(token.accessToken).toMatch(/^\d{8}$/);
    const { accessToken, expiresIn } = token;
    expect(await delivered('by members')).toMatchObject({ accessToken, expiresIn });
  });

  it.each([
    [10, ['80']],
    [13, ['104']],
    [14, ['112']],
    [16, []],
    [20, []],
  ])(
    'with a seed of %i bytes is stored, and its answer warns of fewer than 128 bits',
    async (length, bits) => {
      const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'.slice(0, Math.ceil((length * 8) / 5));
      for (const fields of [{ secret }, { otpauthUri: `otpauth://totp/a?secret=${secret}` }]) {
        const { status, json, text } = await fixture.webhook.store('short', { tokenType: 'TOTP', ...fields });
        expect(status).toBe(200);
        const warnings = (json.warnings ?? []) as readonly string[];
        expect(warnings.map((each) => /has (\d+) bits; RFC 4226/.exec(each)?.[1])).toEqual(bits);
        expect(text).not.toContain(secret.slice(0, 6));
        expect((await delivered('short')).accessToken).toMatch(/^\d{6}$/);
      }
    },
  );

  it.each([{ secret: '' }, { otpauthUri: '' }])('is empty with %o', async (fields) => {
    await stored('no seed', { tokenType: 'TOTP', ...fields });
    expect((await fixture.webhook.credential('no seed')).json.code).toBe('EMPTY_TOKEN');
    expect((await fixture.webhook.storage({ op: 'tokens.get', serviceName: 'no seed' })).json.empty).toBe(
      true,
    );
  });

  it.each([
    { secret: 'no base32!' },
    { otpauthUri: `otpauth://hotp/a?secret=${SEED}` },
    { secret: SEED, period: 0 },
  ])('is refused with %o, without its text in the answer', async (fields) => {
    const refused = await fixture.webhook.store('refused', { tokenType: 'TOTP', ...fields });
    expect(refused).toMatchObject({ status: 400, json: { code: 'INVALID_REQUEST' } });
    expect(refused.text).not.toMatch(/no base32!|JBSWY/);
  });
});

it('leaves no seed, no key and no minted credential in the log, the database or a list', () =>
  expectNoLeaks(['otp']));
