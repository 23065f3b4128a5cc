import { Secret } from '@svault/shared';
import type { EgressResponse } from '@svault/shared/egress';
import { TOKEN_TEXT } from '../provider/provider-bounds.ts';

/** What a provider made of a refresh token. */
export type ProviderAnswer =
  | {
      readonly kind: 'pair';
      readonly accessToken: Secret;
      /** Absent where the former one stays good. */
      readonly refreshToken: Secret | undefined;
      readonly expiresInSeconds: number | undefined;
    }
  /** The refresh token is not good, and no repetition will make it so. */
  | { readonly kind: 'refused' }
  /** Nothing is known of the refresh token: it may be spent or not. */
  | {
      readonly kind: 'failed';
      readonly code: 'PROVIDER_ERROR' | 'PROVIDER_TIMEOUT';
      /** For the log. Never anything that the provider wrote. */
      readonly reason: string;
    };

/** RFC 6749 section 5.2; by GitHub and by Slack, with status 200, in words of their own. */
const REFUSALS: ReadonlySet<unknown> = new Set([
  'invalid_grant',
  'bad_refresh_token',
  'invalid_refresh_token',
]);
/** RFC 6749 section 5.2: what may stand in a log, unlike anything else that a provider writes. */
const OTHER_CODES: ReadonlySet<unknown> = new Set([
  'invalid_request',
  'invalid_client',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
]);
/** Longer than any token lives: beyond it an expiry could not be written as a time. */
const MAX_LIFETIME_SECONDS = 100 * 365 * 86_400;

/**
 * Reads an answer of a token endpoint (RFC 6749 sections 5.1 and 5.2). Pure, and lenient where strictness would throw a
 * rotated token away.
 */
export function readTokenAnswer({ status, body }: Pick<EgressResponse, 'status' | 'body'>): ProviderAnswer {
  const members = membersOf(body);
  if (REFUSALS.has(members?.['error'])) return { kind: 'refused' };
  if (status < 200 || status > 299) return failed(`status ${status}${codeIn(members)}`);
  if (members === undefined) return failed('no JSON object');
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: expiresIn } = members;
  if (typeof accessToken !== 'string' || !TOKEN_TEXT.test(accessToken)) return failed('no access token');
  const rotated = refreshToken ?? '';
  if (typeof rotated !== 'string') return failed('no refresh token that could be kept');
  return {
    kind: 'pair',
    accessToken: new Secret(accessToken),
    refreshToken: rotated === '' ? undefined : new Secret(rotated),
    expiresInSeconds: secondsOf(expiresIn),
  };
}

const failed = (reason: string): ProviderAnswer => ({ kind: 'failed', code: 'PROVIDER_ERROR', reason });

const codeIn = (members: Readonly<Record<string, unknown>> | undefined): string =>
  OTHER_CODES.has(members?.['error']) ? ` ${String(members?.['error'])}` : '';

function membersOf(body: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8').replace(/^\u{feff}/u, ''));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Some providers write the number as text; anything else says nothing of the expiry. */
function secondsOf(expiresIn: unknown): number | undefined {
  const seconds =
    typeof expiresIn === 'string' && /^\d{1,15}$/.test(expiresIn) ? Number(expiresIn) : expiresIn;
  if (typeof seconds !== 'number' || !(seconds >= 0)) return undefined;
  return Math.min(seconds, MAX_LIFETIME_SECONDS);
}
