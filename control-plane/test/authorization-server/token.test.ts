import { describe, expect, test } from 'vitest';
import { newProof } from '../support/cli-client.ts';
import { registerClient } from '../support/consent-page.ts';
import type { Call } from '../support/management-service.ts';
import {
  AUDIENCE,
  REDIRECT,
  approve,
  connect,
  eventTypesOf,
  eventsOf,
  exchange,
  exchangeFields,
  isActive,
  newAgent,
  postOauth,
  refresh,
  errorIn,
  sessionIn,
  signInAgain,
  useOauth,
} from '../support/oauth-client.ts';

const TOKEN = '/api/mcp-oauth/token';

const world = useOauth();

const approved = async () => approve(world, await newAgent(world));

describe('an authorization code', () => {
  // spec: Prefix svsess_. It is bound to an agent
  // spec: and obtains a session token through in-client browser consent.
  test('a code is exchanged for tokens of the chosen agent, with its event', async () => {
    const code = await approved();
    const answer = await exchange(world, code);
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect(answer.json).toEqual({
      access_token: expect.stringMatching(/^svsess_[A-Za-z0-9_-]{43}$/),
      token_type: 'Bearer',
      expires_in: 3_600,
      refresh_token: expect.stringMatching(/^svsessr_[A-Za-z0-9_-]{43}$/),
      scope: 'mcp',
    });
    const [event] = await eventsOf(world, code.agentId);
    const owner = (await world.service.admin('GET', '/api/me')).json;
    expect(event).toMatchObject({
      eventType: 'OAUTH_SESSION_CREATED',
      outcome: 'success',
      userId: owner.id,
      detail: {
        sessionId: expect.stringMatching(/^ses_/),
        clientId: world.clientId,
        client: 'a test client',
      },
    });
  });

  test('unknown parameters are ignored', async () => {
    const more = { client_secret: 'x', scope: 'everything', audience: 'https://elsewhere.example', x: 'y' };
    expect((await exchange(world, await approved(), more)).json).toMatchObject({ scope: 'mcp' });
  });

  test('a code expires after 60 seconds', async () => {
    const [late, timely] = [await approved(), await approved()];
    world.service.clock.advance(59_999);
    expect((await exchange(world, timely)).status).toBe(200);
    world.service.clock.advance(1);
    expect(errorIn(await exchange(world, late))).toBe('400 invalid_grant');
    // An expired code is consumed, also for a clock set back.
    world.service.clock.jump(-60_000);
    expect(errorIn(await exchange(world, late))).toBe('400 invalid_grant');
    world.service.clock.jump(60_000);
  });
});

describe('a code that is presented again', () => {
  test('a code presented twice ends the session that it opened, with an event', async () => {
    const code = await approved();
    const session = sessionIn(await exchange(world, code), code);
    expect(await isActive(world, session)).toBe(true);
    expect(errorIn(await exchange(world, code))).toBe('400 invalid_grant');
    expect([await isActive(world, session), errorIn(await refresh(world, session))]).toEqual([
      false,
      '400 invalid_grant',
    ]);
    const [event] = await eventsOf(world, code.agentId);
    expect(event).toMatchObject({
      eventType: 'OAUTH_SESSION_REVOKED',
      detail: { reason: expect.stringContaining('code was reused') },
    });
    expect(event).not.toHaveProperty('userId');
  });

  test('a code presented again ends its session also after several refreshes', async () => {
    const code = await approved();
    let session = sessionIn(await exchange(world, code), code);
    for (let days = 0; days < 40; days += 20) {
      world.service.clock.advance(20 * 86_400_000);
      session = sessionIn(await refresh(world, session), session);
    }
    await exchange(world, code);
    expect(await isActive(world, session)).toBe(false);
    await signInAgain(world);
  });

  test('a code presented again ends its session without the verifier and from any client', async () => {
    for (const changed of [
      { code_verifier: newProof().codeVerifier },
      { redirect_uri: 'http://127.0.0.1/' },
    ]) {
      const code = await approved();
      const session = sessionIn(await exchange(world, code), code);
      expect(errorIn(await exchange(world, code, changed))).toBe('400 invalid_grant');
      expect(await isActive(world, session)).toBe(false);
    }
    const code = await approved();
    const session = sessionIn(await exchange(world, code), code);
    await exchange(world, code, { client_id: await registerClient(world.service, [REDIRECT]) });
    expect(await isActive(world, session)).toBe(false);
  });

  test('a code presented again ends no other session of the same agent and client', async () => {
    const agentId = await newAgent(world);
    const other = await connect(world, agentId);
    const code = await approve(world, agentId);
    await exchange(world, code);
    await exchange(world, code);
    expect(await isActive(world, other)).toBe(true);
  });
});

describe('an invalid exchange', () => {
  const other = newProof();
  test.each<[string, Record<string, string | undefined>]>([
    ['another verifier', { code_verifier: other.codeVerifier }],
    ['no verifier', { code_verifier: undefined }],
    ['the challenge for a verifier', { code_verifier: other.codeChallenge }],
    ['no redirect_uri', { redirect_uri: undefined }],
    ['another port', { redirect_uri: 'http://127.0.0.1:49153/callback' }],
    ['a longer redirect_uri', { redirect_uri: `${REDIRECT}?x=1` }],
    ['another registered client', {}],
  ])('%s: invalid_grant, and the code is consumed', async (what, changed) => {
    const code = await approved();
    const clientId = await registerClient(world.service, [REDIRECT]);
    const wrong = what === 'another registered client' ? { client_id: clientId } : changed;
    expect(errorIn(await exchange(world, code, wrong))).toBe('400 invalid_grant');
    expect(errorIn(await exchange(world, code))).toBe('400 invalid_grant');
    expect(await eventTypesOf(world, code.agentId)).not.toContain('OAUTH_SESSION_CREATED');
  });

  test('another resource gets invalid_target and consumes the code; the approved one may be spelled with a slash', async () => {
    const code = await approved();
    const resource = `${AUDIENCE}/x`;
    expect(errorIn(await exchange(world, code, { resource }))).toBe('400 invalid_target');
    expect(errorIn(await exchange(world, code))).toBe('400 invalid_grant');
    expect((await exchange(world, await approved(), { resource: `${AUDIENCE}/` })).status).toBe(200);
  });

  test('every invalid exchange gets the same answer', async () => {
    const text = async (changed: Record<string, string>) =>
      (await exchange(world, await approved(), changed)).text;
    const unknown = await text({ code: 'x'.repeat(43) });
    for (const code of ['é', "' OR 1=1 --", 'x'.repeat(10_000)]) expect(await text({ code })).toBe(unknown);
    expect(await text({ code_verifier: other.codeVerifier })).toBe(unknown);
    expect(await text({ redirect_uri: 'http://127.0.0.1/' })).toBe(unknown);
    expect(unknown).not.toContain('verifier');
  });
});

describe('a client', () => {
  test.each([`ocl_${'A'.repeat(22)}`, 'x', 'http://client.example/metadata.json'])(
    'the unknown client_id %s gets invalid_client, and the code stays valid',
    async (id) => {
      const code = await approved();
      expect(errorIn(await exchange(world, code, { client_id: id }))).toBe('400 invalid_client');
      const session = await connect(world);
      expect(errorIn(await refresh(world, session, { client_id: id }))).toBe('400 invalid_client');
      expect((await exchange(world, code)).status).toBe(200);
      expect((await refresh(world, session)).status).toBe(200);
    },
  );

  test('a client_id of a document that the code was not issued to gets invalid_grant, and nothing is fetched', async () => {
    const clientId = 'https://127.0.0.1:1/metadata.json';
    expect(errorIn(await exchange(world, await approved(), { client_id: clientId }))).toBe(
      '400 invalid_grant',
    );
  });
});

describe('between consent and exchange', () => {
  const refusedAfter = async (change: (agentId: string) => Promise<unknown>): Promise<string> => {
    const code = await approved();
    await change(code.agentId);
    const refusal = errorIn(await exchange(world, code));
    expect(await eventTypesOf(world, code.agentId)).not.toContain('OAUTH_SESSION_CREATED');
    return refusal;
  };
  const admin: Call = (method, path, options) => world.service.admin(method, path, options);

  test('an agent that is suspended, deleted or has MCP off gets no session', async () => {
    expect(await refusedAfter((id) => admin('POST', `/api/agents/${id}/suspend`))).toBe('400 invalid_grant');
    expect(await refusedAfter((id) => admin('DELETE', `/api/agents/${id}`))).toBe('400 invalid_grant');
    const off = { body: { mcpEnabled: false } };
    expect(await refusedAfter((id) => admin('PATCH', `/api/agents/${id}`, off))).toBe('400 invalid_grant');
  });

  test('a locked vault gives no session, and the code is consumed', async () => {
    const code = await approved();
    await admin('POST', '/api/vault/lock');
    const refused = await exchange(world, code);
    await admin('POST', '/api/vault/unlock');
    expect([errorIn(refused), refused.json.error_description]).toEqual([
      '400 invalid_grant',
      expect.stringContaining('locked'),
    ]);
    expect(errorIn(await exchange(world, code))).toBe('400 invalid_grant');
  });
});

describe('a request to the token endpoint', () => {
  test.each<[string, Record<string, string | undefined>, string]>([
    ['no grant_type', { grant_type: undefined }, 'invalid_request'],
    ['an empty grant_type', { grant_type: '' }, 'invalid_request'],
    ['client credentials', { grant_type: 'client_credentials' }, 'unsupported_grant_type'],
    ['a password', { grant_type: 'password' }, 'unsupported_grant_type'],
    ['no client_id', { client_id: undefined }, 'invalid_request'],
    ['no refresh_token', { grant_type: 'refresh_token' }, 'invalid_request'],
  ])('a request with %s is rejected and consumes nothing', async (_what, changed, error) => {
    const code = await approved();
    const answer = await exchange(world, code, changed);
    expect(errorIn(answer)).toBe(`400 ${error}`);
    expect(Object.keys(answer.json)).toEqual(['error', 'error_description']);
    // RFC 6749 section 5.2: the characters of error_description.
    expect(answer.json.error_description).toMatch(/^[\x20-\x21\x23-\x5B\x5D-\x7E]+$/);
    expect((await exchange(world, code)).status).toBe(200);
  });

  test.each([
    ['basic Y2xpZW50Og==', 'basic realm="svault"'],
    ['Bearer svsess_x', 'Bearer realm="svault", error="invalid_token"'],
    ['"quoted" x', 'Basic realm="svault"'],
    ['', 'Basic realm="svault"'],
  ])(
    'a request with Authorization: %s gets 401 invalid_client and consumes nothing',
    async (header, challenge) => {
      const code = await approved();
      const authorization = { authorization: header };
      for (const endpoint of ['token', 'revoke', 'introspect'] as const) {
        const fields = { ...exchangeFields(code), token: 'svsess_x' };
        const answer = await postOauth(world.service, endpoint, fields, authorization);
        expect([errorIn(answer), answer.headers.get('www-authenticate')]).toEqual([
          '401 invalid_client',
          challenge,
        ]);
        expect(answer.headers.get('cache-control')).toBe('no-store');
      }
      expect((await exchange(world, code)).status).toBe(200);
    },
  );
});

describe.each(['token', 'revoke', 'introspect'] as const)('the %s endpoint', (endpoint) => {
  const path = `/api/mcp-oauth/${endpoint}`;
  const origin = { origin: 'https://client.example' };

  test(`POST ${path} takes one form, in its body and of 16 KiB, and consumes nothing where it is none`, async () => {
    const code = await approved();
    const fields = { ...(exchangeFields(code) as Record<string, string>), token: 'svsess_x' };
    const form = new URLSearchParams(fields).toString();
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    const { service } = world;
    for (const answer of [
      await postOauth(service, endpoint, ''),
      await postOauth(service, endpoint, { ...fields, token: '', code: '' }),
      await postOauth(service, endpoint, `${form}&token=x&code=x`),
      await postOauth(service, endpoint, `${form}&x=1&x=1`),
      await postOauth(service, endpoint, `${form}&x=a%00b`),
      await postOauth(service, endpoint, form, { 'content-encoding': 'gzip' }),
      await service.anyone('POST', `${path}?${form}`, { headers: type }),
      await service.anyone('POST', path, { body: fields }),
      await service.anyone('POST', path),
    ])
      expect(errorIn(answer)).toBe('400 invalid_request');
    const large = await postOauth(service, endpoint, `x=${'y'.repeat(16 * 1024)}`);
    expect([large.status, large.json.code]).toEqual([413, 'TOO_LARGE']);
    expect((await exchange(world, code)).status).toBe(200);
  });

  test(`${path} is a POST, which pages of any origin may send to the token endpoint alone`, async () => {
    const { anyone } = world.service;
    const allowed = endpoint === 'token' ? ['POST, OPTIONS', '*'] : ['POST', null];
    for (const method of [
      'GET',
      'HEAD',
      'PUT',
      'DELETE',
      'PATCH',
      ...(endpoint === 'token' ? [] : ['OPTIONS']),
    ]) {
      const { status, headers } = await anyone(method, `${path}?token=x`, { headers: origin });
      const seen = [headers.get('allow'), headers.get('access-control-allow-origin')];
      expect([method, status, ...seen]).toEqual([method, 405, ...allowed]);
    }
    const { headers } = await postOauth(world.service, endpoint, { token: 'x' }, origin);
    expect(headers.get('access-control-allow-origin')).toBe(allowed[1]);
  });
});

test('a preflight of the token endpoint allows any header, and no credentials', async () => {
  const { anyone } = world.service;
  const preflight = await anyone('OPTIONS', TOKEN, {
    headers: {
      origin: 'https://client.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization, mcp-protocol-version',
    },
  });
  expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
  expect(preflight.headers.get('access-control-allow-methods')).toBe('POST');
  expect(preflight.headers.get('access-control-allow-headers')).toMatch(/\*.*authorization/i);
  expect(preflight.headers.get('access-control-allow-credentials')).toBeNull();
  for (const path of [`${TOKEN}/`, `${TOKEN}/x`, '/api/mcp-oauth'])
    expect([path, (await anyone('OPTIONS', path)).status]).toEqual([path, 404]);
});
