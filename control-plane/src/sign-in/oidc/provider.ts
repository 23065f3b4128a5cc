import * as client from 'openid-client';
import type { Clock, Secret } from '@svault/shared';
import type { Egress, EgressRequest } from '@svault/shared/egress';
import * as z from 'zod';
import { EMAIL_FORM, type Identity } from '../../core/user.ts';
import { callbackError, providerUnavailable, wrongIssuer } from './errors.ts';
import { issuerProblem } from './issuer.ts';

/** What a browser carries, sealed in a cookie, while it is at the provider. */
export interface SignInTransaction {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
  /** Path of this service to go on to. */
  readonly returnTo: string | undefined;
}

/** The operator's identity provider, and this service's client there. */
export interface ProviderSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: Secret;
}

export interface ProviderOptions {
  readonly egress: Pick<Egress, 'request'>;
  readonly redirectUri: string;
  readonly clock: Clock;
  /** For each call of the provider. */
  readonly timeoutMs: number;
}

/** A person who has just signed in at the provider. */
export interface SignedInPerson {
  readonly identity: Identity;
  /** Undefined unless the provider verified the address. @throws ApiError SIGN_IN_FAILED, PROVIDER_UNAVAILABLE */
  verifiedEmail(): Promise<string | undefined>;
}

export interface IdentityProvider {
  /** @throws ApiError PROVIDER_UNAVAILABLE */
  begin(): Promise<{ readonly url: string; readonly transaction: Omit<SignInTransaction, 'returnTo'> }>;
  /** @throws ApiError SIGN_IN_DENIED, SIGN_IN_FAILED, PROVIDER_UNAVAILABLE */
  finish(query: URLSearchParams, transaction: SignInTransaction): Promise<SignedInPerson>;
}

/** Core 2, `sub`: at most 255 ASCII characters. */
const SUBJECT_FORM = /^[\x20-\x7E]{1,255}$/;
/** Metadata may change. The library refreshes keys by itself. */
const METADATA_LIFETIME_MS = 60 * 60_000;

/**
 * OpenID Connect Core 1.0 with the code flow, PKCE (RFC 7636), `iss` in the response where the provider sends it (RFC 9207),
 * and signed ID tokens. The provider is first called when somebody signs in, so that the service starts without it. Its
 * tokens are checked against the machine's clock.
 */
export function createIdentityProvider(
  settings: ProviderSettings,
  options: ProviderOptions,
): IdentityProvider {
  const { redirectUri } = options;
  const configuration = createDiscovery(settings, options);
  return {
    begin: async () => {
      const transaction = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        codeVerifier: client.randomPKCECodeVerifier(),
      };
      const url = client.buildAuthorizationUrl(await configuration(), {
        redirect_uri: redirectUri,
        scope: 'openid email',
        state: transaction.state,
        nonce: transaction.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(transaction.codeVerifier),
        code_challenge_method: 'S256',
      });
      return { url: url.href, transaction };
    },
    finish: async (query, { state, nonce, codeVerifier }) => {
      const config = await configuration();
      const callback = new URL(`${redirectUri}?${query.toString()}`);
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: codeVerifier };
      const tokens = await client
        .authorizationCodeGrant(config, callback, checks)
        .catch((error: unknown) => Promise.reject(callbackError(error)));
      const claims = tokens.claims();
      if (claims === undefined || !SUBJECT_FORM.test(claims.sub))
        throw callbackError(new Error('no ID token, or one without a subject'));
      return {
        identity: { issuer: claims.iss, subject: claims.sub },
        verifiedEmail: async () =>
          claims['email'] === undefined
            ? verifiedEmailIn(await userInfo(config, tokens.access_token, claims.sub))
            : verifiedEmailIn(claims),
      };
    },
  };
}

const userInfo = (
  config: client.Configuration,
  accessToken: string,
  subject: string,
): Promise<Readonly<Record<string, unknown>>> =>
  client
    .fetchUserInfo(config, accessToken, subject)
    .catch((error: unknown) => Promise.reject(callbackError(error)));

/** Core 5.1: `email_verified` is a boolean of the `email` in the same claims. */
function verifiedEmailIn(claims: Readonly<Record<string, unknown>>): string | undefined {
  const { email, email_verified: verified } = claims;
  return typeof email === 'string' && EMAIL_FORM.test(email) && verified === true ? email : undefined;
}

/** Shares one discovery at a time, and caches its result for an hour. */
function createDiscovery(
  { issuer, clientId, clientSecret }: ProviderSettings,
  { egress, clock, timeoutMs }: Omit<ProviderOptions, 'redirectUri'>,
): () => Promise<client.Configuration> {
  const execute = [client.enableNonRepudiationChecks];
  // The settings allow http on loopback only.
  // oxlint-disable-next-line typescript/no-deprecated -- so that it stands out
  if (issuer.startsWith('http:')) execute.push(client.allowInsecureRequests);
  const discover = async (): Promise<client.Configuration> => {
    const found = await client
      .discovery(new URL(issuer), clientId, undefined, clientAuthentication(clientSecret), {
        execute,
        timeout: timeoutMs / 1_000,
        [client.customFetch]: createProviderFetch(egress, timeoutMs),
      })
      .catch((error: unknown) => Promise.reject(discoveryError(issuer, error)));
    const problem = issuerProblem(issuer, found.serverMetadata().issuer);
    if (problem !== undefined) throw wrongIssuer(problem);
    return found;
  };
  let known: { readonly configuration: Promise<client.Configuration>; readonly since: number } | undefined;
  return () => {
    if (known !== undefined && clock.monotonic() - known.since < METADATA_LIFETIME_MS)
      return known.configuration;
    const asked = { configuration: discover(), since: clock.monotonic() };
    known = asked;
    asked.configuration.catch(() => {
      if (known === asked) known = undefined;
    });
    return asked.configuration;
  };
}

/** The library reports metadata of quite another issuer in the cause of its error. */
function discoveryError(issuer: string, error: unknown): ReturnType<typeof providerUnavailable> {
  const { data } = otherIssuerSchema.safeParse(error);
  const problem = data && issuerProblem(issuer, data.cause.body.issuer);
  return problem === undefined ? providerUnavailable(error) : wrongIssuer(problem);
}
const otherIssuerSchema = z.object({
  cause: z.object({ attribute: z.literal('issuer'), body: z.object({ issuer: z.string() }) }),
});

/** Basic, which every provider supports (RFC 6749 section 2.3.1), unless this one supports only the form. */
function clientAuthentication(clientSecret: Secret): client.ClientAuth {
  const basic = client.ClientSecretBasic(clientSecret.reveal());
  const post = client.ClientSecretPost(clientSecret.reveal());
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const form = methods.includes('client_secret_post') && !methods.includes('client_secret_basic');
    return (form ? post : basic)(server, ...rest);
  };
}

/** Metadata and key sets are a few KiB. */
const MAX_BYTES = 256 * 1024;
/** Fetch, "null body status". */
const BODILESS = [101, 204, 205, 304];

/** The library's calls through the egress client: addresses are checked, redirects are not followed, time and size are capped. */
function createProviderFetch(egress: Pick<Egress, 'request'>, timeoutMs: number): client.CustomFetch {
  return async (url, { method, headers, body, signal }) => {
    const answer = await egress.request({
      url,
      method: method as EgressRequest['method'],
      headers,
      ...bodyOf(body),
      timeoutMs,
      maxBytes: MAX_BYTES,
      ...(signal && { signal }),
    });
    const { status } = answer;
    return new Response(BODILESS.includes(status) ? null : new Uint8Array(answer.body), {
      status,
      headers: answer.headers,
    });
  };
}

/** The library sends forms, and nothing with a GET. */
function bodyOf(body: client.CustomFetchOptions['body']): { readonly body?: string } {
  if (body === undefined || body === null) return {};
  if (typeof body === 'string') return { body };
  if (body instanceof URLSearchParams) return { body: body.toString() };
  throw new TypeError('a body of this kind is not sent to an identity provider');
}
