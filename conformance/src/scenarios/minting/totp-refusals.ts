import type { WebhookCheck } from '../../check/check.ts';
import { eachVariant } from '../../check/each-variant.ts';
import { expectRefusal } from '../../check/expect.ts';
import { newSeed } from '../../forge/one-time-code.ts';
import type { Tools } from '../../check/tools.ts';

/** Each is refused, and none of them leaves a record. */
async function expectRefused(tools: Tools, bodies: Readonly<Record<string, object>>): Promise<void> {
  const name = tools.freshName();
  await eachVariant(bodies, async (body) => {
    expectRefusal(await tools.store(name, { tokenType: 'TOTP', ...body }), 'INVALID_REQUEST');
  });
  const left = await tools.fetchCredential(tools.ticket('credential', name));
  expectRefusal(left, 'NOT_FOUND', 'a name under which every store was refused');
}

const claims = ['credential', 'totp'] as const;

/** Protocol section 5.5, SAV-27: seeds that no code can be made of. */
export const TOTP_REFUSAL_CHECKS: readonly WebhookCheck[] = [
  {
    id: 'totp.bad-seed',
    title: 'a seed that is not valid base32 is refused, and nothing is stored',
    requirements: ['SAV-27'],
    claims,
    run: async (tools) => {
      const { base32 } = newSeed();
      await expectRefused(tools, {
        'a zero, a one and an eight': { secret: `018${base32}` },
        'a sign': { secret: `${base32}!` },
        'a letter beyond ASCII': { secret: `é${base32}` },
        'a word': { secret: 'not a seed, 100%' },
        'a seed of an otpauth URI': { otpauthUri: `otpauth://totp/a?secret=018${base32}` },
      });
    },
  },
  {
    id: 'totp.bad-uri',
    title: 'a URI that is none of otpauth://totp/ is refused, and nothing is stored',
    requirements: ['SAV-27'],
    claims,
    run: async (tools) => {
      const { base32: seed } = newSeed();
      await expectRefused(tools, {
        'codes by a counter': { otpauthUri: `otpauth://hotp/a?secret=${seed}&counter=1` },
        'a page': { otpauthUri: `https://totp/a?secret=${seed}` },
        'another scheme': { otpauthUri: `otpauth-migration://totp/a?secret=${seed}` },
        'a longer word': { otpauthUri: `otpauth://totps/a?secret=${seed}` },
        'a word before it': { otpauthUri: `otpauth://xtotp/a?secret=${seed}` },
        'no seed': { otpauthUri: 'otpauth://totp/a?issuer=b' },
        'no URI': { otpauthUri: seed },
      });
    },
  },
  {
    id: 'totp.contradiction',
    title: 'members that contradict the otpauth URI beside them are refused, and nothing is stored',
    requirements: ['SAV-27'],
    claims,
    run: async (tools) => {
      const otpauthUri = `otpauth://totp/a?secret=${newSeed().base32}&algorithm=SHA256&digits=8&period=60`;
      await expectRefused(tools, {
        'another algorithm': { otpauthUri, algorithm: 'SHA1' },
        'other digits': { otpauthUri, digits: 6 },
        'another period': { otpauthUri, period: 30 },
        'a period with a digit more': { otpauthUri, period: 600 },
        'a period with a digit less': { otpauthUri, period: 6 },
        'another period, the rest being the same': { otpauthUri, algorithm: 'SHA256', digits: 8, period: 30 },
      });
    },
  },
];
