import { type Secret, createScrub, isShortSecret } from '@svault/shared';

/** What a provider says of a rejection: its code (RFC 6749 section 5.2, or one that is not standard), and text for people. */
export interface ProviderRejection {
  readonly status: number;
  readonly code?: unknown;
  readonly description?: unknown;
}

const CODE = /^[A-Za-z][\w.:-]{0,63}$/;
const MAX_DESCRIPTION = 200;
/** A part of a secret that is this long counts as the secret. */
const PART = 8;
/** Tokens, identifiers of requests and keys that are not known here; the owner needs none of them. */
const TOKEN_LIKE = /eyJ[\w.-]{5,}|(?=[\w+/~=-]*\d)[\w+/~=-]{20,}/g;

/**
 * Why a provider gave nothing: its status, code and description in one bounded line, for the owner and the log. A provider may
 * repeat what it was sent, so a text that has a part of that in any form is left out, and so is everything that looks like a
 * token.
 *
 * @param sent the secrets of the request
 */
export function providerReason(
  { status, code, description }: ProviderRejection,
  sent: readonly Secret[],
): string {
  const secrets = sent.map((secret) => secret.reveal());
  const isFree = (text: string): boolean => !secrets.some((secret) => repeats(text, secret));
  const isCode = typeof code === 'string' && CODE.test(code) && isFree(code);
  // A provider says little that is not in its code, and a short secret could be guessed from what is left out.
  const isText = typeof description === 'string' && isFree(description) && !secrets.some(isShortSecret);
  const name = isCode ? withoutTokens(code) : '';
  const text = isText ? lineOf(description) : '';
  return [`status ${status}`, ...(name === '' ? [] : [name])].join(', ') + (text === '' ? '' : `: ${text}`);
}

const withoutTokens = (text: string): string => text.replaceAll(TOKEN_LIKE, '…');

/** The first line; further ones quote requests. */
function lineOf(text: string): string {
  const [line = ''] = text.trim().split(/[\r\n\p{Zl}\p{Zp}]/u);
  const plain = withoutTokens(line.replaceAll(/[\p{C}"\\]/gu, '').replaceAll(/\s+/g, ' '));
  return plain.length > MAX_DESCRIPTION ? `${plain.slice(0, MAX_DESCRIPTION)}…` : plain;
}

/** Whether a text has a part of a secret, or the whole in an encoding. */
function repeats(text: string, secret: string): boolean {
  const bare = secret.replaceAll(/-----[A-Z ]+-----|\s/g, '').toLowerCase();
  if (bare === '') return false;
  if (!isShortSecret(secret) && createScrub(secret.trim())([['text', text]]).length === 0) return true;
  const said = text.toLowerCase();
  const length = Math.min(PART, bare.length);
  for (let at = 0; at + length <= said.length; at += 1)
    if (bare.includes(said.slice(at, at + length))) return true;
  return false;
}
