/** What counts as an e-mail address: something, an at sign, something; RFC 5321 section 4.5.3.1 bounds both. */
export const EMAIL_FORM = /^[^\s@\p{C}]{1,64}@[^\s@\p{C}]{1,189}$/u;

/** What {@link EMAIL_FORM} lets through is no longer. */
export const EMAIL_CHARACTERS = 254;

/** The first owner's address until the operator names one. Nobody else ever has it, whatever a provider says. */
export const PLACEHOLDER_EMAIL = 'owner@localhost';

/**
 * How an address is kept and compared. Only ASCII letters lose their case: the full mapping turns other letters into
 * ASCII ones (U+212A, the Kelvin sign, into `k`), so that somebody else's address would become the owner's.
 */
export const normalizeEmail = (text: string): string =>
  text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
