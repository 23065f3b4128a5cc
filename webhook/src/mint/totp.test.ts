import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ManualClock, Secret } from '@svault/shared';
import type { SealedTotp } from '../vault/record.ts';
import { totpCode } from './totp.ts';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

function base32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{1,5}/g) ?? [])
    .map((five) => ALPHABET[Number.parseInt(five.padEnd(5, '0'), 2)])
    .join('');
}

/** RFC 6238 appendix B takes `1234567890…`, cut to the size of the hash. */
const seedOf = (length: number): string => base32(Buffer.from('1234567890'.repeat(7).slice(0, length)));
const SEEDS = { SHA1: seedOf(20), SHA256: seedOf(32), SHA512: seedOf(64) };

function codeAt(seconds: number, settings: SealedTotp, seed: string): string {
  return totpCode(new ManualClock(seconds * 1000), settings, new Secret(seed)).code.reveal();
}

describe('TOTP', () => {
  it.each([
    [59, { SHA1: '94287082', SHA256: '46119246', SHA512: '90693936' }],
    [1111111109, { SHA1: '07081804', SHA256: '68084774', SHA512: '25091201' }],
    [1111111111, { SHA1: '14050471', SHA256: '67062674', SHA512: '99943326' }],
    [1234567890, { SHA1: '89005924', SHA256: '91819424', SHA512: '93441116' }],
    [2000000000, { SHA1: '69279037', SHA256: '90698825', SHA512: '38618901' }],
    [20000000000, { SHA1: '65353130', SHA256: '77737706', SHA512: '47863826' }],
  ])('gives the codes of RFC 6238 appendix B at %i', (seconds, codes) => {
    for (const [algorithm, code] of Object.entries(codes) as ['SHA1' | 'SHA256' | 'SHA512', string][]) {
      expect(codeAt(seconds, { algorithm, digits: 8, period: 30 }, SEEDS[algorithm])).toBe(code);
      expect(codeAt(seconds, { algorithm, digits: 6, period: 30 }, SEEDS[algorithm])).toBe(code.slice(2));
    }
  });

  it('returns for how many seconds a code is valid, from the whole period down to one', () => {
    const at = (ms: number, period = 30) =>
      totpCode(new ManualClock(ms), { algorithm: 'SHA1', digits: 6, period }, new Secret(SEEDS.SHA1));
    const start = 1_800_000_000_000;
    const told = [0, 999, 1_000, 28_999, 29_000, 29_999, 30_000].map((ms) => at(start + ms).expiresIn);
    expect(told).toEqual([30, 30, 29, 2, 1, 1, 30]);
    expect([at(start + 12_345, 1).expiresIn, at(start, 86_400).expiresIn]).toEqual([1, 86_400 - 28_800]);
    const [first, last, next] = [0, 29_999, 30_000].map((ms) => at(start + ms).code.reveal());
    expect(last).toBe(first);
    expect(next).not.toBe(first);
  });
});

const NO_OATHTOOL = hasOathtool() ? '' : ' (SKIPPED: apt-get install oathtool)';

describe.skipIf(NO_OATHTOOL !== '')(`TOTP beside oathtool, a second program${NO_OATHTOOL}`, () => {
  it('gives the same codes for seeds of any size, all algorithms, digits and periods', () => {
    const cases = fc.sample(
      fc.record({
        seed: fc.uint8Array({ minLength: 1, maxLength: 80 }),
        algorithm: fc.constantFrom('SHA1' as const, 'SHA256' as const, 'SHA512' as const),
        digits: fc.constantFrom(6, 7, 8),
        period: fc.oneof(fc.constantFrom(1, 30, 60, 86_400), fc.integer({ min: 1, max: 86_400 })),
        seconds: fc.integer({ min: 0, max: 4_000_000_000 }),
      }),
      150,
    );
    for (const { seed, algorithm, digits, period, seconds } of cases) {
      const options = { algorithm, digits, period };
      const text = base32(seed);
      const theirs = execFileSync('oathtool', [
        `--totp=${algorithm}`,
        `--digits=${digits}`,
        `--time-step-size=${period}s`,
        `--now=@${seconds}`,
        Buffer.from(seed).toString('hex'),
      ]);
      expect([options, seconds, codeAt(seconds, options, text)]).toEqual([
        options,
        seconds,
        theirs.toString().trim(),
      ]);
    }
  });
});

/** Debian's `oathtool`; `.ci/run` installs it. */
function hasOathtool(): boolean {
  try {
    execFileSync('oathtool', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
