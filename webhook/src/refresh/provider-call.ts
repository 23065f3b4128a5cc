import { Secret, toBase64, utf8 } from '@svault/shared';
import { type Egress, EgressFailed, EgressRefused, type EgressResponse } from '@svault/shared/egress';
import type { SealedProvider } from '../vault/record.ts';
import { providerReason } from './provider-reason.ts';

/** PROTOCOL.md section 2: a webhook's calls to providers end within 8 s. */
export const PROVIDER_CALL_MS = 8_000;
/** The largest answer of a provider that the webhook reads. */
export const PROVIDER_ANSWER_BYTES = 64 * 1024;
/** A token must fit into a header: visible ASCII (RFC 6749 appendix A.12 permits spaces too). */
export const TOKEN_TEXT = /^[\x21-\x7e]{1,65536}$/;

/** Client authentication; the provider's `authMethod` selects one. */
export interface ClientAuthentication {
  readonly clientSecret?: Secret | undefined;
  /** A signed JWT (RFC 7523 section 2.2). */
  readonly clientAssertion?: Secret | undefined;
}

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/**
 * The form that asks for a new pair (RFC 6749 section 6), with the client authentication of RFC 6749 section 2.3.1 or
 * RFC 7523 section 2.2.
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

/** RFC 6749 appendix B, as section 2.3.1 asks for both halves. */
const formEncoded = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1);

export interface TokenPair {
  readonly kind: 'pair';
  readonly accessToken: Secret;
  /** undefined if the former one remains valid. */
  readonly refreshToken: Secret | undefined;
  readonly expiresInSeconds: number | undefined;
}

/** A provider's answer to a refresh token. */
type ProviderAnswer =
  | TokenPair
  /** The refresh token is invalid, for good. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The refresh token may be consumed or not. */
  | {
      readonly kind: 'failed';
      readonly code: 'PROVIDER_ERROR' | 'PROVIDER_TIMEOUT';
      /** For the owner and the log. It never repeats what was sent. */
      readonly reason: string;
    };

/** RFC 6749 section 5.2; then what GitHub and Slack say instead, with status 200. */
const REFUSALS: ReadonlySet<unknown> = new Set([
  'invalid_grant',
  'bad_refresh_token',
  'invalid_refresh_token',
]);
/** No token lives longer, and a longer lifetime could not be written as a time. */
const MAX_LIFETIME_SECONDS = 100 * 365 * 86_400;

/**
 * Reads an answer of a token endpoint (RFC 6749 sections 5.1 and 5.2). It is lenient where strictness would lose a
 * rotated token.
 *
 * @param sent the secrets of the request
 */
export function readTokenAnswer(
  { status, body }: Pick<EgressResponse, 'status' | 'body'>,
  sent: readonly Secret[],
): ProviderAnswer {
  const members = membersOf(body);
  const { error: code, error_description: description } = members ?? {};
  const reason = providerReason({ status, code, description }, sent);
  if (REFUSALS.has(code)) return { kind: 'refused', reason };
  if (status < 200 || status > 299) return failed(reason);
  if (members === undefined) return failed('no JSON object');
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: expiresIn } = members;
  if (typeof accessToken !== 'string' || !TOKEN_TEXT.test(accessToken))
    return failed(typeof code === 'string' ? reason : 'no access token');
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

function membersOf(body: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8').replace(/^\u{feff}/u, ''));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Some providers write the number as text; anything else is no expiry. */
function secondsOf(expiresIn: unknown): number | undefined {
  const seconds =
    typeof expiresIn === 'string' && /^\d{1,15}$/.test(expiresIn) ? Number(expiresIn) : expiresIn;
  if (typeof seconds !== 'number' || !(seconds >= 0)) return undefined;
  return Math.min(seconds, MAX_LIFETIME_SECONDS);
}

/**
 * Calls the provider once. It never throws: after any failure the refresh token may be consumed.
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
      maxBytes: PROVIDER_ANSWER_BYTES,
      // A retry after a broken call could send a consumed refresh token again.
      alone: true,
    });
    const { clientSecret, clientAssertion } = authentication;
    const sent = [refreshToken, clientSecret, clientAssertion].filter((secret) => secret !== undefined);
    return readTokenAnswer(answer, sent);
  } catch (error) {
    if (error instanceof EgressFailed && error.kind === 'timeout')
      return { kind: 'failed', code: 'PROVIDER_TIMEOUT', reason: 'timeout' };
    if (error instanceof EgressFailed) return failed(error.kind);
    // Another error may quote the request.
    return failed(
      error instanceof EgressRefused ? `egress refused: ${error.reason}` : 'the call could not be made',
    );
  }
}
