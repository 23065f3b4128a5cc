import { Secret, toBase64, utf8 } from '@svault/shared';
import { type Egress, EgressFailed, EgressRefused, type EgressResponse } from '@svault/shared/egress';
import type { SealedProvider } from '../vault/record.ts';

/** By what the client authenticates, beside its id; which of them is used says the provider's `authMethod`. */
export interface ClientAuthentication {
  readonly clientSecret?: Secret | undefined;
  /** A signed JWT (RFC 7523 section 2.2). */
  readonly clientAssertion?: Secret | undefined;
}

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

/** Protocol section 2: a webhook's calls to providers end within 8 s. */
export const PROVIDER_CALL_MS = 8_000;
const MAX_ANSWER_BYTES = 64 * 1024;
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
/** RFC 6750 section 2.1 allows less; whatever is to stand in a header has to be visible ASCII. */
const ACCESS_TOKEN = /^[\x21-\x7e]+$/;
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
 * The form that asks for a new pair (RFC 6749 section 6), with the client authentication of RFC 6749 section 2.3.1 or
 * RFC 7523 section 2.2. Pure.
 */
export function refreshRequest(
  provider: SealedProvider,
  refreshToken: Secret,
  { clientSecret, clientAssertion }: ClientAuthentication,
): { readonly headers: Readonly<Record<string, string>>; readonly body: string } {
  const form = new URLSearchParams({
    grant_type: 'refresh_token',
    refresh_token: refreshToken.reveal(),
    ...(provider.scope !== undefined && { scope: provider.scope }),
  });
  const headers: Record<string, string> = {
    'content-type': 'application/x-www-form-urlencoded',
    accept: 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'svault-webhook',
  };
  const secret = clientSecret?.reveal() ?? '';
  switch (provider.authMethod) {
    case 'client_secret_basic':
      headers['authorization'] =
        `Basic ${toBase64(utf8(`${formEncoded(provider.clientId)}:${formEncoded(secret)}`))}`;
      break;
    case 'client_secret_post':
      form.set('client_id', provider.clientId);
      form.set('client_secret', secret);
      break;
    case 'private_key_jwt':
      form.set('client_id', provider.clientId);
      form.set('client_assertion_type', ASSERTION_TYPE);
      form.set('client_assertion', clientAssertion?.reveal() ?? '');
      break;
    case 'none':
      form.set('client_id', provider.clientId);
      break;
  }
  return { headers, body: form.toString() };
}

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
  if (typeof accessToken !== 'string' || !ACCESS_TOKEN.test(accessToken)) return failed('no access token');
  const rotated = refreshToken ?? '';
  if (typeof rotated !== 'string') return failed('no refresh token that could be kept');
  return {
    kind: 'pair',
    accessToken: new Secret(accessToken),
    refreshToken: rotated === '' ? undefined : new Secret(rotated),
    expiresInSeconds: secondsOf(expiresIn),
  };
}

/**
 * Calls the provider, once. Never throws: whatever goes wrong, the refresh token may be spent.
 *
 * @param options.timeoutMs for the whole call
 */
export async function callProvider(
  egress: Pick<Egress, 'request'>,
  call: {
    readonly provider: SealedProvider;
    readonly refreshToken: Secret;
    readonly authentication: ClientAuthentication;
  },
  { timeoutMs = PROVIDER_CALL_MS }: { readonly timeoutMs?: number } = {},
): Promise<ProviderAnswer> {
  const { provider, refreshToken, authentication } = call;
  try {
    const answer = await egress.request({
      method: 'POST',
      url: provider.tokenUrl,
      ...refreshRequest(provider, refreshToken, authentication),
      timeoutMs,
      maxBytes: MAX_ANSWER_BYTES,
    });
    return readTokenAnswer(answer);
  } catch (error) {
    if (error instanceof EgressFailed && error.kind === 'timeout')
      return { kind: 'failed', code: 'PROVIDER_TIMEOUT', reason: 'timeout' };
    if (error instanceof EgressFailed) return failed(error.kind);
    // Another error may hold the request itself.
    return failed(
      error instanceof EgressRefused ? `egress refused: ${error.reason}` : 'the call could not be made',
    );
  }
}

const failed = (reason: string): ProviderAnswer => ({ kind: 'failed', code: 'PROVIDER_ERROR', reason });

const codeIn = (members: Readonly<Record<string, unknown>> | undefined): string =>
  OTHER_CODES.has(members?.['error']) ? ` ${String(members?.['error'])}` : '';

/** RFC 6749 appendix B, as section 2.3.1 asks for both halves. */
const formEncoded = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1);

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
