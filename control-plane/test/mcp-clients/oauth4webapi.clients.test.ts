import * as oauth from 'oauth4webapi';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type OutsideService, startOutsideService } from './outside-service.ts';

const REDIRECT_URI = 'http://127.0.0.1:49152/callback';
/** The only leniency: the service is on this machine, by http. */
// oxlint-disable-next-line typescript/no-deprecated -- marked so that it stands out, not because it goes
const HTTP = { [oauth.allowInsecureRequests]: true } as const;
const ACCESS_TOKEN_MS = 3_600_000;

let service: OutsideService;
beforeAll(async () => {
  service = await startOutsideService();
});
afterAll(() => service.stop());

/** Calls `whoami` with a token. @throws `WWWAuthenticateChallengeError` of the library on a 401 with a challenge */
async function whoami(accessToken: string, at = service.mcpUrl): Promise<unknown> {
  const headers = new Headers({
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2025-11-25',
  });
  const params = { name: 'whoami', arguments: {} };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const response = await oauth.protectedResourceRequest(
    accessToken,
    'POST',
    new URL(at),
    headers,
    body,
    HTTP,
  );
  const { result } = (await response.json()) as { result: { structuredContent: unknown } };
  return result.structuredContent;
}

/** What the library reads in the challenge to a token. */
async function challengeTo(
  accessToken: string,
  at = service.mcpUrl,
): Promise<oauth.WWWAuthenticateChallenge | undefined> {
  const thrown: unknown = await whoami(accessToken, at).catch((error: unknown) => error);
  return thrown instanceof oauth.WWWAuthenticateChallengeError ? thrown.cause[0] : undefined;
}

/** From the resource to its authorization server, each document checked against what it was asked for. */
async function discover(at = service.mcpUrl): Promise<oauth.AuthorizationServer> {
  const resource = new URL(at);
  const { authorization_servers: servers = [] } = await oauth.processResourceDiscoveryResponse(
    resource,
    await oauth.resourceDiscoveryRequest(resource, HTTP),
  );
  const issuer = new URL(servers[0] ?? '');
  const options = { algorithm: 'oauth2', ...HTTP } as const;
  return oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, options));
}

async function register(as: oauth.AuthorizationServer): Promise<oauth.Client> {
  const metadata = {
    client_name: 'a strict client',
    redirect_uris: [REDIRECT_URI],
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  };
  const response = await oauth.dynamicClientRegistrationRequest(as, metadata, HTTP);
  return oauth.processDynamicClientRegistrationResponse(response);
}

interface Asked {
  readonly url: URL;
  readonly state: string;
  readonly verifier: string;
}

/** An authorization request, RFC 7636 and RFC 8707 included. */
async function authorizationUrl(
  as: oauth.AuthorizationServer,
  client: oauth.Client,
  resource = service.mcpUrl,
): Promise<Asked> {
  const [state, verifier] = [oauth.generateRandomState(), oauth.generateRandomCodeVerifier()];
  const url = new URL(as.authorization_endpoint ?? '');
  url.search = new URLSearchParams({
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: REDIRECT_URI,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    resource,
    state,
  }).toString();
  return { url, state, verifier };
}

const exchange = (
  as: oauth.AuthorizationServer,
  client: oauth.Client,
  parameters: URLSearchParams,
  verifier: string,
  resource = service.mcpUrl,
): Promise<Response> =>
  oauth.authorizationCodeGrantRequest(as, client, oauth.None(), parameters, REDIRECT_URI, verifier, {
    additionalParameters: { resource },
    ...HTTP,
  });

/** The whole way to tokens. */
async function signIn(as: oauth.AuthorizationServer, client: oauth.Client, resource = service.mcpUrl) {
  const { url, state, verifier } = await authorizationUrl(as, client, resource);
  const parameters = oauth.validateAuthResponse(as, client, await service.allow(url), state);
  const response = await exchange(as, client, parameters, verifier, resource);
  const tokens = await oauth.processAuthorizationCodeResponse(as, client, response);
  return { tokens, parameters, verifier };
}

const introspect = async (as: oauth.AuthorizationServer, client: oauth.Client, token: string) =>
  oauth.processIntrospectionResponse(
    as,
    client,
    await oauth.introspectionRequest(as, client, oauth.None(), token, HTTP),
  );

const revoke = async (as: oauth.AuthorizationServer, client: oauth.Client, token: string) =>
  oauth.processRevocationResponse(await oauth.revocationRequest(as, client, oauth.None(), token, HTTP));

describe('a strict OAuth client', () => {
  test('comes from a refused token over both metadata documents to a tool call', async () => {
    const challenge = await challengeTo(`svsess_${'A'.repeat(43)}`);
    expect(challenge).toMatchObject({
      scheme: 'bearer',
      parameters: {
        resource_metadata: `${service.url}/.well-known/oauth-protected-resource/api/agents/mcp`,
        error: 'invalid_token',
      },
    });
    const as = await discover();
    expect(as).toMatchObject({
      issuer: service.url,
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
    });
    const { tokens } = await signIn(as, await register(as));
    expect(tokens).toMatchObject({ token_type: 'bearer', expires_in: ACCESS_TOKEN_MS / 1_000 });
    expect(await whoami(tokens.access_token)).toMatchObject({ id: service.agent.id });
  });

  test('comes the same way to the address with a slash at its end, and its token is good at both', async () => {
    const slashed = `${service.mcpUrl}/`;
    const challenge = await challengeTo(`svsess_${'A'.repeat(43)}`, slashed);
    expect(challenge?.parameters.resource_metadata).toBe(
      `${service.url}/.well-known/oauth-protected-resource/api/agents/mcp/`,
    );
    const as = await discover(slashed);
    const { tokens } = await signIn(as, await register(as), slashed);
    for (const at of [slashed, service.mcpUrl])
      expect(await whoami(tokens.access_token, at)).toMatchObject({ id: service.agent.id });
  });

  test('that sends a secret is told 401 invalid_client with a challenge of its scheme', async () => {
    const as = await discover();
    const client = await register(as);
    const { tokens } = await signIn(as, client);
    const secret = oauth.ClientSecretBasic('a secret of another server');
    const token = tokens.refresh_token ?? '';
    const refused = [
      oauth
        .refreshTokenGrantRequest(as, client, secret, token, HTTP)
        .then((answer) => oauth.processRefreshTokenResponse(as, client, answer)),
      oauth.revocationRequest(as, client, secret, token, HTTP).then(oauth.processRevocationResponse),
      oauth
        .introspectionRequest(as, client, secret, token, HTTP)
        .then((answer) => oauth.processIntrospectionResponse(as, client, answer)),
    ];
    for (const each of refused)
      await expect(each).rejects.toMatchObject({
        name: 'WWWAuthenticateChallengeError',
        status: 401,
        cause: [{ scheme: 'basic', parameters: { realm: 'svault' } }],
      });
    expect(await whoami(tokens.access_token)).toMatchObject({ id: service.agent.id });
  });

  test('reads at the introspection endpoint what a token is', async () => {
    const as = await discover();
    const client = await register(as);
    const { tokens } = await signIn(as, client);
    expect(await introspect(as, client, tokens.access_token)).toMatchObject({
      active: true,
      iss: service.url,
      aud: service.mcpUrl,
      sub: service.agent.id,
      client_id: client.client_id,
      token_type: 'Bearer',
    });
    expect(await introspect(as, client, tokens.refresh_token ?? '')).toEqual({ active: false });
  });

  test('is refreshed after the access token’s end, and out for good when it revokes', async () => {
    const as = await discover();
    const client = await register(as);
    const { tokens: first } = await signIn(as, client);
    service.clock.advance(ACCESS_TOKEN_MS + 1);
    expect((await challengeTo(first.access_token))?.parameters.error).toBe('invalid_token');

    const refresh = async (token = ''): Promise<oauth.TokenEndpointResponse> =>
      oauth.processRefreshTokenResponse(
        as,
        client,
        await oauth.refreshTokenGrantRequest(as, client, oauth.None(), token, {
          additionalParameters: { resource: service.mcpUrl },
          ...HTTP,
        }),
      );
    const second = await refresh(first.refresh_token);
    expect(second.refresh_token).not.toBe(first.refresh_token);
    expect(await whoami(second.access_token)).toMatchObject({ id: service.agent.id });

    await revoke(as, client, second.refresh_token ?? '');
    expect((await challengeTo(second.access_token))?.parameters.error).toBe('invalid_token');
    expect(await introspect(as, client, second.access_token)).toEqual({ active: false });
    await expect(refresh(second.refresh_token)).rejects.toMatchObject({ error: 'invalid_grant' });
  });

  test('reads a refusal of the person as the protocol has it', async () => {
    const as = await discover();
    const client = await register(as);
    const { url, state } = await authorizationUrl(as, client);
    const callback = await service.allow(url, 'deny');
    expect(() => oauth.validateAuthResponse(as, client, callback, state)).toThrow(
      expect.objectContaining({ error: 'access_denied' }),
    );
  });

  test('is refused with another verifier, and a code that was used twice takes its tokens along', async () => {
    const as = await discover();
    const client = await register(as);
    const { url, state } = await authorizationUrl(as, client);
    const parameters = oauth.validateAuthResponse(as, client, await service.allow(url), state);
    const other = await exchange(as, client, parameters, oauth.generateRandomCodeVerifier());
    await expect(oauth.processAuthorizationCodeResponse(as, client, other)).rejects.toMatchObject({
      error: 'invalid_grant',
    });

    const used = await signIn(as, client);
    const again = await exchange(as, client, used.parameters, used.verifier);
    await expect(oauth.processAuthorizationCodeResponse(as, client, again)).rejects.toMatchObject({
      error: 'invalid_grant',
    });
    expect((await challengeTo(used.tokens.access_token))?.parameters.error).toBe('invalid_token');
  });
});
