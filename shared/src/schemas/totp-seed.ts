import { base32Bytes, normalBase32 } from '../otpauth/base32.ts';
import { type OtpauthKey, type TotpMembers, readOtpauthUri } from '../otpauth/otpauth-uri.ts';

/** The members of a `TOTP` body: PROTOCOL.md section 5.5. */
export interface TotpBody extends TotpMembers {
  readonly secret?: string | undefined;
  readonly otpauthUri?: string | undefined;
}

const DEFAULTS = { algorithm: 'SHA1', digits: 6, period: 30 } as const;

/** The parameters of a code, all given. */
export type TotpSeed = Required<{ readonly [Name in keyof OtpauthKey]: NonNullable<OtpauthKey[Name]> }>;

/**
 * The seed of a `TOTP` body and how codes are made of it: as the body says, else as its key URI says, else as RFC 6238
 * recommends. An empty secret field gives an empty seed.
 * @returns undefined if the secret field has no base32, or the URI and the other members give different
 *   things
 */
export function totpSeedOf(body: TotpBody): TotpSeed | undefined {
  const { secret, otpauthUri = '', algorithm, digits, period } = body;
  const uri = otpauthUri === '' ? undefined : readOtpauthUri(otpauthUri);
  const seed = (secret ?? otpauthUri) === '' ? '' : (uri?.seed ?? normalBase32(secret ?? ''));
  if (seed === undefined) return undefined;
  const told = { algorithm, digits, period };
  const contradicts = (Object.keys(told) as (keyof typeof told)[]).some(
    (name) => told[name] !== undefined && uri?.[name] !== undefined && told[name] !== uri[name],
  );
  if (contradicts) return undefined;
  return {
    seed,
    algorithm: algorithm ?? uri?.algorithm ?? DEFAULTS.algorithm,
    digits: digits ?? uri?.digits ?? DEFAULTS.digits,
    period: period ?? uri?.period ?? DEFAULTS.period,
  };
}

/** RFC 4226 section 4, R6. */
const MIN_BITS = 128;
const RECOMMENDED_BITS = 160;

/**
 * A warning for a seed that is shorter than RFC 4226 requires. Providers issue such seeds nevertheless,
 * so they are stored and work.
 * @param seed base32 in its one spelling, or empty
 * @returns undefined for a seed of sufficient length
 */
export function seedWarning(seed: string): string | undefined {
  const bits = base32Bytes(seed).length * 8;
  if (bits === 0 || bits >= MIN_BITS) return undefined;
  return `this TOTP seed has ${bits} bits; RFC 4226 asks for ${MIN_BITS} at least and recommends ${RECOMMENDED_BITS}: have a longer one issued where you can`;
}
