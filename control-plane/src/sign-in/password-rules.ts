import { normalizeEmail } from '../core/user.ts';

/** OWASP ASVS 5, V6.2.1 and V6.2.9: length is what counts, and no composition is asked for. In characters, not bytes. */
export const PASSWORD_CHARACTERS = { min: 12, max: 128 } as const;

/** One spelling of the same characters (NFC): keyboards differ in how they write an accent (NIST SP 800-63B-4, 3.1.1.2). */
export const normalizePassword = (text: string): string => text.normalize('NFC');

/**
 * What is wrong with a new password.
 *
 * @param password as {@link normalizePassword} leaves it
 * @returns completing "The password …"; undefined where nothing is
 */
export function problemOfPassword(password: string, email: string): string | undefined {
  const { min, max } = PASSWORD_CHARACTERS;
  const characters = [...password].length;
  if (characters < min || characters > max) return `must have ${min} to ${max} characters`;
  if (new Set(password).size === 1) return 'must have more than one character, however often repeated';
  return normalizeEmail(password) === email ? 'must not be the e-mail address' : undefined;
}
