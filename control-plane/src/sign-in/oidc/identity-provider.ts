import * as client from 'openid-client';
import { z } from 'zod';
import type { Clock, Secret } from '@svault/shared';
import type { Egress } from '@svault/shared/egress';
import { EMAIL_FORM, type Identity } from '../../core/user.ts';
import { refusalOfCallback } from './callback-errors.ts';
import { issuerProblem } from './issuer.ts';
import { createProviderFetch } from './provider-fetch.ts';
import { providerUnavailable, wrongIssuer } from './provider-refusal.ts';
import type { SignInTransaction } from './login-state.ts';

/** How the operator's identity provider knows this service. */
export interface ProviderSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: Secret;
}

export interface ProviderOptions {
  readonly egress: Pick<Egress, 'request'>;
  /** Our callback. */
  readonly redirectUri: string;
  readonly clock: Clock;
}

/** Somebody who has just signed in at the provider. */
export interface SignedInPerson {
  readonly identity: Identity;
  /**
   * Undefined where the provider does not say that it has verified the address.
   * @throws AppError SIGN_IN_FAILED, PROVIDER_UNAVAILABLE
   */
  verifiedEmail(): Promise<string | undefined>;
}

export interface IdentityProvider {
  /** @throws AppError PROVIDER_UNAVAILABLE */
  begin(): Promise<{ readonly url: string; readonly transaction: Omit<SignInTransaction, 'returnTo'> }>;
  /**
   * @param query of the callback, as it came
   * @throws AppError SIGN_IN_DENIED, SIGN_IN_FAILED, PROVIDER_UNAVAILABLE
   */
  finish(query: URLSearchParams, transaction: SignInTransaction): Promise<SignedInPerson>;
}

/** Core 2, `sub`: at most 255 ASCII characters. */
const SUBJECT_FORM = /^[\x20-\x7E]{1,255}$/;
const TIMEOUT_MS = 5_000;
/** Metadata may change; keys are looked after by the library, which asks again for one that it does not know. */
const METADATA_LIFETIME_MS = 60 * 60_000;

/**
 * OpenID Connect Core 1.0 with the code flow, PKCE (RFC 7636), `iss` in the answer where the provider gives it (RFC 9207), and
 * ID tokens whose signature is checked although they come straight from the provider. The provider is first asked when
 * somebody signs in, so that the service starts without it. Its tokens are judged by the machine's own clock.
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
        .catch((error: unknown) => Promise.reject(refusalOfCallback(error)));
      const claims = tokens.claims();
      if (claims === undefined || !SUBJECT_FORM.test(claims.sub))
        throw refusalOfCallback(new Error('no ID token, or one without a subject'));
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
    .catch((error: unknown) => Promise.reject(refusalOfCallback(error)));

/**
 * Core 5.1: `email_verified` is a boolean, and belongs to the `email` beside it. Anything but true means no, and an address
 * that no user can have is none.
 */
function verifiedEmailIn(claims: Readonly<Record<string, unknown>>): string | undefined {
  const { email, email_verified: verified } = claims;
  return typeof email === 'string' && EMAIL_FORM.test(email) && verified === true ? email : undefined;
}

/** One discovery at a time, and its result for an hour. */
function createDiscovery(
  { issuer, clientId, clientSecret }: ProviderSettings,
  { egress, clock }: Pick<ProviderOptions, 'egress' | 'clock'>,
): () => Promise<client.Configuration> {
  const execute = [client.enableNonRepudiationChecks];
  // The settings let http through on loopback only.
  // oxlint-disable-next-line typescript/no-deprecated -- so that it stands out
  if (issuer.startsWith('http:')) execute.push(client.allowInsecureRequests);
  const discover = async (): Promise<client.Configuration> => {
    const found = await client
      .discovery(new URL(issuer), clientId, undefined, clientAuthentication(clientSecret), {
        execute,
        timeout: TIMEOUT_MS / 1_000,
        [client.customFetch]: createProviderFetch(egress, TIMEOUT_MS),
      })
      .catch((error: unknown) => Promise.reject(refusalOfDiscovery(issuer, error)));
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

/** The library names metadata whose issuer is not even alike in the cause of its error. */
function refusalOfDiscovery(issuer: string, error: unknown): ReturnType<typeof providerUnavailable> {
  const { data } = otherIssuerSchema.safeParse(error);
  const problem = data && issuerProblem(issuer, data.cause.body.issuer);
  return problem === undefined ? providerUnavailable(error) : wrongIssuer(problem);
}
const otherIssuerSchema = z.object({
  cause: z.object({ attribute: z.literal('issuer'), body: z.object({ issuer: z.string() }) }),
});

/** Basic, which every provider has to take (RFC 6749 section 2.3.1), unless this one says that it takes the form only. */
function clientAuthentication(clientSecret: Secret): client.ClientAuth {
  const basic = client.ClientSecretBasic(clientSecret.reveal());
  const post = client.ClientSecretPost(clientSecret.reveal());
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const form = methods.includes('client_secret_post') && !methods.includes('client_secret_basic');
    return (form ? post : basic)(server, ...rest);
  };
}
