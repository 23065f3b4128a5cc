import { base32Bytes } from './base32.ts';

/** RFC 4226 section 4, R6. */
const MIN_BITS = 128;
const RECOMMENDED_BITS = 160;

/**
 * What to tell a person who stores a seed that is shorter than RFC 4226 asks for. Such seeds are issued all the same, so they are
 * stored and work.
 *
 * @param seed base32 in its one spelling, or empty
 * @returns undefined where there is nothing to say
 */
export function seedWarning(seed: string): string | undefined {
  const bits = base32Bytes(seed).length * 8;
  if (bits === 0 || bits >= MIN_BITS) return undefined;
  return `this TOTP seed has ${bits} bits; RFC 4226 asks for ${MIN_BITS} at least and recommends ${RECOMMENDED_BITS}: have a longer one issued where you can`;
}
