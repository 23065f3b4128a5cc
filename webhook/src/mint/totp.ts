import { type Clock, Secret, base32Bytes } from '@svault/shared';
import { createGuardrails, generateSync } from 'otplib';
import type { SealedTotp } from '../vault/record.ts';

/** A code and for how long it still holds. */
interface TotpCode {
  readonly code: Secret;
  /** Seconds, from 1 to the period. */
  readonly expiresIn: number;
}

/** Real shared secrets are often 10 bytes; the library's own floor is 16. */
const GUARDRAILS = createGuardrails({ MIN_SECRET_BYTES: 1, MAX_SECRET_BYTES: 64 * 1024, MAX_PERIOD: 86_400 });
const ALGORITHMS = { SHA1: 'sha1', SHA256: 'sha256', SHA512: 'sha512' } as const;

/**
 * The code of this moment (RFC 6238).
 *
 * @param secret the shared secret, base32 in its one spelling
 */
export function totpCode(clock: Clock, { algorithm, digits, period }: SealedTotp, secret: Secret): TotpCode {
  const epoch = Math.floor(clock.now() / 1000);
  const code = generateSync({
    secret: base32Bytes(secret.reveal()),
    algorithm: ALGORITHMS[algorithm],
    digits,
    period,
    epoch,
    guardrails: GUARDRAILS,
  });
  return { code: new Secret(code), expiresIn: period - (epoch % period) };
}
