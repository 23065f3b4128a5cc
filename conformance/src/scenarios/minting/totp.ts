import type { WebhookCheck } from '../../check/check.ts';
import { expectDelivered } from '../../check/delivered.ts';
import { eachVariant } from '../../check/each-variant.ts';
import { expectOk, expectThat } from '../../check/expect.ts';
import { codeOfStep, newSeed, type CodeSettings } from '../../forge/one-time-code.ts';
import { text } from '../../http/read-answer.ts';
import type { Tools } from '../../check/tools.ts';
import { clockAheadMs } from '../../check/webhook-clock.ts';

/** What the answer about the webhook's clock leaves open. */
const CLOCK_TOLERANCE_MS = 1500;

/** A record, and what its codes are made of. */
interface Seeded {
  readonly body: object;
  readonly seed: Uint8Array;
  readonly settings?: CodeSettings;
}

/** Stores a seed, fetches a code and compares it with those of the moments that it may be of. */
async function expectCode(
  tools: Tools,
  aheadMs: number,
  { body, seed, settings = {} }: Seeded,
): Promise<void> {
  const { period = 30, digits = 6, algorithm = 'SHA1' } = settings;
  const name = await tools.given.record({ tokenType: 'TOTP', ...body });
  const from = Date.now() + aheadMs - CLOCK_TOLERANCE_MS;
  const { answer, token } = await expectDelivered(tools, name);
  const seconds = [from, Date.now() + aheadMs + CLOCK_TOLERANCE_MS].map((each) => Math.floor(each / 1000));
  const [first = 0, last = 0] = seconds;
  const moments = Array.from({ length: last - first + 1 }, (_, at) => first + at);
  const ofThisCode = moments.filter(
    (each) => codeOfStep(seed, Math.floor(each / period), settings) === token['accessToken'],
  );
  expectThat(
    ofThisCode.length > 0,
    answer,
    `the code of this moment as a string of ${digits} digits (${algorithm}, ${period} s), leading zeros kept`,
  );
  const expiresIn = token['expiresIn'];
  expectThat(
    Number.isInteger(expiresIn) && ofThisCode.some((each) => expiresIn === period - (each % period)),
    answer,
    `expiresIn, an integer from 1 to ${period}: the seconds until the code after this one`,
  );
}

/** Stores records one after the other and looks at the codes of each. */
async function expectCodes(tools: Tools, variants: Readonly<Record<string, Seeded>>): Promise<void> {
  const aheadMs = await clockAheadMs(tools);
  await eachVariant(variants, (seeded) => expectCode(tools, aheadMs, seeded));
}

function check(
  id: string,
  title: string,
  requirements: WebhookCheck['requirements'],
  run: WebhookCheck['run'],
): WebhookCheck {
  return { id: `totp.${id}`, title, requirements, claims: ['credential', 'totp'], run };
}

/** Protocol section 5.5: one-time codes. */
export const TOTP_CHECKS: readonly WebhookCheck[] = [
  check('code', 'a TOTP delivers the code of the moment and how long it holds', ['CRE-07'], async (tools) => {
    const [one, other] = [newSeed(), newSeed(16)];
    await expectCodes(tools, {
      'a seed of 20 bytes, all else left out': { body: { secret: one.base32 }, seed: one.bytes },
      'a seed of 16 bytes, all else left out': { body: { secret: other.base32 }, seed: other.bytes },
    });
  }),
  check(
    'short-seed',
    'a seed with fewer bits than RFC 4226 asks for is accepted, down to 80',
    ['SAV-36'],
    async (tools) => {
      const seeded = (length: number): Seeded => {
        const { base32, bytes } = newSeed(length);
        return { body: { secret: base32 }, seed: bytes };
      };
      await expectCodes(tools, { 'a seed of 80 bits': seeded(10), 'a seed of 104 bits': seeded(13) });
    },
  ),
  check('algorithm', 'codes are made with the algorithm that was stored', ['CRE-07'], async (tools) => {
    const seeded = (algorithm: 'SHA1' | 'SHA256' | 'SHA512', length: number): Seeded => {
      const { base32, bytes } = newSeed(length);
      return { body: { secret: base32, algorithm }, seed: bytes, settings: { algorithm } };
    };
    await expectCodes(tools, {
      SHA1: seeded('SHA1', 20),
      SHA256: seeded('SHA256', 32),
      SHA512: seeded('SHA512', 64),
      'SHA256 with a seed of 20 bytes': seeded('SHA256', 20),
    });
  }),
  check(
    'digits',
    'codes have as many digits as was stored, leading zeros kept',
    ['CRE-07'],
    async (tools) => {
      const seeded = (digits: number): Seeded => {
        const { base32, bytes } = newSeed();
        return { body: { secret: base32, digits }, seed: bytes, settings: { digits } };
      };
      await expectCodes(tools, {
        'six digits': seeded(6),
        'eight digits': seeded(8),
        'a leading zero': leadingZero(),
      });
    },
  ),
  check('period', 'codes last as long as was stored', ['CRE-07'], async (tools) => {
    const seeded = (period: number): Seeded => {
      const { base32, bytes } = newSeed();
      return { body: { secret: base32, period }, seed: bytes, settings: { period } };
    };
    await expectCodes(tools, {
      'a period of 30 s': seeded(30),
      'a period of 60 s': seeded(60),
      'a period of 15 s': seeded(15),
    });
  }),
  check('uri', 'an otpauth URI is read with all that it says', ['CRE-07'], async (tools) => {
    const seeded = (label: string, settings: CodeSettings = {}, more = ''): Seeded => {
      const { base32, bytes } = newSeed();
      const parameters = Object.entries(settings).map(([name, value]) => `&${name}=${String(value)}`);
      const otpauthUri = `otpauth://totp/${label}?secret=${base32}${more}${parameters.join('')}`;
      return { body: { otpauthUri }, seed: bytes, settings };
    };
    await expectCodes(tools, {
      'a seed alone': seeded('conformance'),
      'a label with an issuer': seeded('ACME%20Co:john@example.com', {}, '&issuer=ACME%20Co'),
      algorithm: seeded('a', { algorithm: 'SHA256' }),
      digits: seeded('a', { digits: 8 }),
      period: seeded('a', { period: 60 }),
      'all of them': seeded('a', { algorithm: 'SHA512', digits: 8, period: 60 }),
    });
  }),
  check(
    'uri-with-members',
    'members beside an otpauth URI that say the same are accepted',
    ['SAV-27'],
    async (tools) => {
      const { base32, bytes } = newSeed();
      const settings = { algorithm: 'SHA256', digits: 8, period: 60 } as const;
      const otpauthUri = `otpauth://totp/a?secret=${base32}&algorithm=SHA256&digits=8&period=60`;
      await expectCodes(tools, {
        'all of them twice': { body: { otpauthUri, ...settings }, seed: bytes, settings },
      });
    },
  ),
  check(
    'seed-forms',
    'a seed is read whatever its letter case, spaces, dashes and padding are',
    ['SAV-26'],
    async (tools) => {
      const { base32, bytes } = newSeed(16);
      const inFours = base32.match(/.{1,4}/g) ?? [];
      const padded = base32.padEnd(Math.ceil(base32.length / 8) * 8, '=');
      const forms = {
        'lower case': base32.toLowerCase(),
        'mixed case': inFours.map((each, at) => (at % 2 === 0 ? each : each.toLowerCase())).join(''),
        'spaces between groups of four': inFours.join(' '),
        'dashes between groups of four': inFours.join('-'),
        'spaces at both ends': ` ${base32} `,
        padding: padded,
        'all of it': ` ${inFours.join('- ').toLowerCase()}======`,
      };
      const seeded = Object.entries(forms).map(
        ([what, secret]) => [what, { body: { secret }, seed: bytes }] as const,
      );
      await expectCodes(tools, Object.fromEntries(seeded));
    },
  ),
  check(
    'seed-stays',
    'a seed is in no answer, neither in what is delivered nor in what is listed',
    ['STO-03', 'TRU-01'],
    async (tools) => {
      const { base32, bytes } = newSeed();
      const otpauthUri = `otpauth://totp/a?secret=${base32}`;
      await eachVariant({ secret: { secret: base32 }, otpauthUri: { otpauthUri } }, async (body) => {
        const name = await tools.given.record({ tokenType: 'TOTP', ...body });
        const { answer } = await expectDelivered(tools, name, { claims: { sub: 'usr_conformance' } });
        const listed = tools.claims.has('storage')
          ? [
              await tools.storage({ op: 'tokens.get', serviceName: name }),
              await tools.storage({ op: 'audit.list', serviceName: name }),
            ]
          : [];
        for (const each of listed) expectOk(each);
        for (const each of [answer, ...listed])
          expectThat(!reveals(text(each), base32, bytes), each, 'no seed');
      });
    },
  ),
];

/** A seed whose codes start with a zero now and in the steps around, so that nobody has to be lucky to see it kept. */
function leadingZero(): Seeded {
  const step = Math.floor(Date.now() / 1000 / 30);
  for (;;) {
    const { base32, bytes } = newSeed();
    if ([step - 1, step, step + 1].every((each) => codeOfStep(bytes, each).startsWith('0')))
      return { body: { secret: base32 }, seed: bytes };
  }
}

/** In whatever form. */
function reveals(said: string, base32: string, bytes: Uint8Array): boolean {
  const forms = [
    Buffer.from(bytes).toString('hex'),
    Buffer.from(bytes).toString('base64url'),
    base32.toLowerCase(),
  ];
  return forms.some((form) => said.toLowerCase().includes(form.toLowerCase()));
}
