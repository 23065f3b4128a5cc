import * as z from 'zod';
import { normalBase32 } from './base32.ts';

/** How a seed becomes a code: RFC 6238 section 1.2, RFC 4226 section 5.3, and PROTOCOL.md section 5.5. */
export const totpMembers = {
  algorithm: z.enum(['SHA1', 'SHA256', 'SHA512']).optional(),
  digits: z.int().min(6).max(8).optional(),
  /** Seconds. */
  period: z.int().min(1).max(86_400).optional(),
};
const totpSchema = z.object(totpMembers);
export type TotpMembers = z.infer<typeof totpSchema>;

/** The parameters of a key URI; absent ones are undefined. */
export interface OtpauthKey extends TotpMembers {
  /** base32 in its one spelling. */
  readonly seed: string;
}

const TOTP_URI = /^otpauth:\/\/totp\/[^?#]*\?([^#]*)$/i;
const READ_PARAMETERS = ['secret', 'algorithm', 'digits', 'period'] as const;

/**
 * Reads `otpauth://totp/LABEL?secret=…` (the key URI format of authenticator apps). It says nothing of what is wrong
 * with a text, which is a secret.
 * @returns undefined for any other text: another type, no seed, a parameter twice or outside its bounds. Parameters
 *   that do not matter for the code, such as `issuer`, are not looked at
 */
export function readOtpauthUri(text: string): OtpauthKey | undefined {
  const [, query] = TOTP_URI.exec(text) ?? [];
  if (query === undefined) return undefined;
  const parameters = new URLSearchParams(query);
  if (READ_PARAMETERS.some((name) => parameters.getAll(name).length > 1)) return undefined;
  const seed = normalBase32(parameters.get('secret') ?? '');
  const { data: members } = totpSchema.safeParse({
    algorithm: parameters.get('algorithm')?.toUpperCase().replace('-', ''),
    digits: numberOf(parameters.get('digits')),
    period: numberOf(parameters.get('period')),
  });
  return seed === undefined || members === undefined ? undefined : { seed, ...members };
}

/** Decimal digits alone; NaN for any other text, which no schema takes for a number. */
function numberOf(text: string | null): number | undefined {
  if (text === null) return undefined;
  return /^[0-9]{1,6}$/.test(text) ? Number(text) : Number.NaN;
}
