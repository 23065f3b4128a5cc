import { describe, expect, test } from 'vitest';
import { browserOn, fieldsOf } from '../support/browser.ts';
import {
  type CliGrant,
  LOOPBACK,
  beginLogin,
  bearer,
  cliSession,
  codeIn,
  decide,
  exchange,
  newProof,
  refresh,
  signedInBrowser,
} from '../support/cli-client.ts';
import { BASE_URL, clientOf } from '../support/management-service.ts';
import { useService } from '../support/use-service.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

// Other tests reach the limits per address.
const service = useService({
  SV_LIMIT_CLI_LOGIN_BEGIN: '1000',
  SV_LIMIT_CLI_LOGIN_EXCHANGE: '1000',
  SV_LIMIT_CLI_LOGIN_REFRESH: '10000',
  SV_LIMIT_PASSWORD_LOGIN: '1000',
});

/** An approved code and its verifier. */
async function approved(more?: Readonly<Record<string, unknown>>) {
  const { browser, email } = await signedInBrowser(service);
  const login = await beginLogin(service, more);
  return { ...login, email, browser, code: codeIn(await decide(browser, login)) };
}

describe('a CLI login', () => {
  test('an approved login is exchanged for a session of kind cli with the role of the approver', async () => {
    const login = await beginLogin(service, { redirectUri: LOOPBACK, client: 'svault 1.0 on laptop' });
    expect(login).toMatchObject({
      requestId: expect.stringMatching(/^clr_[A-Za-z0-9_-]{22}$/),
      authorizeUrl: `${BASE_URL}/login/cli?request=${login.requestId}`,
      userCode: expect.stringMatching(/^[B-Z]{4}-[B-Z]{4}$/),
      expiresInSeconds: 600,
    });
    const { browser, email, id } = await signedInBrowser(service);
    const page = await browser.get(login.authorizeUrl.slice(BASE_URL.length));
    for (const shown of ['svault 1.0 on laptop', '127.0.0.1', email, login.userCode])
      expect(page.text).toContain(shown);

    const decision = await decide(browser, login);
    const target = new URL(decision.headers.get('location') ?? '');
    expect([decision.status, target.origin + target.pathname]).toEqual([303, LOOPBACK]);
    expect([...target.searchParams.keys()]).toEqual(['code', 'state', 'iss']);
    expect(target.searchParams.get('state')).toBe(login.requestId);
    expect(target.searchParams.get('iss')).toBe(BASE_URL);

    const { requestId, codeVerifier } = login;
    const granted = await exchange(service, { requestId, code: codeIn(decision), codeVerifier });
    expect(granted.status).toBe(200);
    expect(granted.json).toEqual({
      accessToken: expect.stringMatching(/^svcli_[A-Za-z0-9_-]{43}$/),
      refreshToken: expect.stringMatching(/^svclir_[A-Za-z0-9_-]{43}$/),
      expiresInSeconds: 900,
      user: { id, email, role: 'member', isOwner: false, vaultId: expect.stringMatching(/^vlt_/) },
    });
    const call = bearer(service, granted.json.accessToken);
    expect((await call('GET', '/api/me')).json).toMatchObject({ id, via: 'session', method: 'cli' });
    expect((await call('GET', '/api/sessions')).json.items).toContainEqual(
      expect.objectContaining({ kind: 'cli', client: 'svault 1.0 on laptop', current: true }),
    );
    expect((await call('POST', '/api/agents', { body: { name: 'made by cli' } })).status).toBe(201);
    expect((await call('GET', '/api/members')).status).toBe(403);
    const [event] = (await service.admin('GET', '/api/audit?eventType=LOGIN&limit=1')).json.items;
    expect(event).toMatchObject({ outcome: 'success', userId: id, detail: { method: 'cli' } });
  });

  test('without a redirect URI the page shows the code to paste', async () => {
    const { browser } = await signedInBrowser(service);
    const login = await beginLogin(service, {});
    const page = await decide(browser, login);
    expect([page.status, page.headers.get('location')]).toEqual([200, null]);
    const code = /<code class="value" id="copied">([A-Za-z0-9_-]{43})<\/code>/.exec(page.text)?.[1] ?? '';
    const { codeVerifier } = login;
    expect((await exchange(service, { code, codeVerifier })).status).toBe(200);
  });

  test('a user who is not signed in signs in and returns to the approval page', async () => {
    const login = await beginLogin(service);
    const path = login.authorizeUrl.slice(BASE_URL.length);
    const browser = browserOn(service.running.url);
    const asked = await browser.visit(path);
    expect(asked.path).toBe(`/login?${new URLSearchParams({ returnTo: path }).toString()}`);
    const { browser: other } = await signedInBrowser(service);
    for (const [name, value] of other.cookies) browser.cookies.set(name, value);
    expect((await browser.visit(asked.path)).path).toBe(path);
  });

  test('DELETE /api/sessions/{id} ends a CLI session with both tokens', async () => {
    const { accessToken, refreshToken, id } = await cliSession(service);
    const { items } = (await service.admin('GET', '/api/sessions?limit=100')).json;
    const session = items.find(
      ({ kind, userId }: { kind: string; userId: string }) => kind === 'cli' && userId === id,
    );
    expect((await service.admin('DELETE', `/api/sessions/${session.id}`)).status).toBe(204);
    expect((await bearer(service, accessToken)('GET', '/api/me')).status).toBe(401);
    const answer = await service.anyone('POST', '/api/cli/login/refresh', { body: { refreshToken } });
    expect([answer.status, answer.json.code]).toEqual([401, 'UNAUTHENTICATED']);
  });

  test('a CLI login works while the vault is locked', async () => {
    const { browser } = await signedInBrowser(service);
    await service.admin('POST', '/api/vault/lock');
    try {
      const login = await beginLogin(service);
      const code = codeIn(await decide(browser, login));
      expect((await exchange(service, { code, codeVerifier: login.codeVerifier })).status).toBe(200);
    } finally {
      await service.admin('POST', '/api/vault/unlock');
    }
  });
});

describe('the code of a CLI login', () => {
  const refused = async (body: Parameters<typeof exchange>[1]) => {
    const answer = await exchange(service, body);
    return [answer.status, answer.json.code];
  };
  const NO = [401, 'UNAUTHENTICATED'];

  test('one of several concurrent exchanges of a code succeeds', async () => {
    const { code, codeVerifier } = await approved();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => exchange(service, { code, codeVerifier })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await refused({ code, codeVerifier })).toEqual(NO);
  });

  test('a wrong verifier consumes the code', async () => {
    const { code, codeVerifier } = await approved();
    expect(await refused({ code, codeVerifier: newProof().codeVerifier })).toEqual(NO);
    expect(await refused({ code, codeVerifier })).toEqual(NO);
  });

  test('a code is bound to its request id', async () => {
    const [mine, theirs] = [await approved(), await approved()];
    const { code, codeVerifier } = mine;
    expect(await refused({ code, codeVerifier, requestId: theirs.requestId })).toEqual(NO);
    expect(await refused({ code: theirs.code, codeVerifier })).toEqual(NO);
  });

  test('a code expires after five minutes', async () => {
    const [first, second] = [await approved(), await approved()];
    service.clock.advance(5 * MINUTE_MS - 1);
    expect((await exchange(service, { code: first.code, codeVerifier: first.codeVerifier })).status).toBe(
      200,
    );
    service.clock.advance(1);
    expect(await refused({ code: second.code, codeVerifier: second.codeVerifier })).toEqual(NO);
    service.clock.jump(-MINUTE_MS);
    expect(await refused({ code: second.code, codeVerifier: second.codeVerifier })).toEqual(NO);
    service.clock.jump(MINUTE_MS);
  });

  test('a code of a removed member is rejected', async () => {
    const { browser, id } = await signedInBrowser(service);
    const login = await beginLogin(service);
    const code = codeIn(await decide(browser, login));
    await service.admin('DELETE', `/api/members/${id}`);
    expect(await refused({ code, codeVerifier: login.codeVerifier })).toEqual(NO);
  });
});

describe('the request of a CLI login', () => {
  test('a request is decided once, also by concurrent forms, and within ten minutes', async () => {
    const { browser } = await signedInBrowser(service);
    const decided = await beginLogin(service);
    const concurrent = await Promise.all(Array.from({ length: 10 }, () => decide(browser, decided)));
    expect(concurrent.filter(({ status }) => status === 303)).toHaveLength(1);
    for (const decision of ['allow', 'deny'])
      expect((await decide(browser, decided, decision)).status).toBe(404);
    const late = await beginLogin(service);
    service.clock.advance(10 * MINUTE_MS);
    expect((await browser.get(`/login/cli?request=${late.requestId}`)).status).toBe(404);
    expect((await decide(browser, late)).status).toBe(404);
  });

  test('a denied request redirects with access_denied and stores nothing', async () => {
    const { browser } = await signedInBrowser(service);
    for (const decision of ['deny', '', 'Allow']) {
      const login = await beginLogin(service);
      const { headers } = await decide(browser, login, decision);
      expect(headers.get('location')).toBe(
        `${LOOPBACK}?error=access_denied&state=${login.requestId}&iss=${encodeURIComponent(BASE_URL)}`,
      );
      expect((await decide(browser, login)).status).toBe(404);
    }
  });

  test.each([
    ['no challenge', { codeChallenge: undefined }, 'codeChallenge'],
    ['a plain challenge', { codeChallenge: 'x'.repeat(50) }, 'codeChallenge'],
    ['a query of its own', { redirectUri: 'http://127.0.0.1:8080/?code=mine' }, 'redirectUri'],
    ['a name that turns round', { client: 'svault \u202egnp.exe' }, 'client'],
    ['a long name', { client: 'x'.repeat(101) }, 'client'],
    ['an unknown member', { state: 'x' }, 'state'],
  ])('a request with %s gets 422', async (_what, more, path) => {
    const { codeChallenge } = newProof();
    const answer = await service.anyone('POST', '/api/cli/login/begin', { body: { codeChallenge, ...more } });
    expect([answer.status, answer.json.issues[0].path]).toEqual([422, path]);
  });
});

describe('the approval page', () => {
  test('opening the page approves nothing', async () => {
    const { browser } = await signedInBrowser(service);
    const login = await beginLogin(service);
    for (const query of ['', '&decision=allow'])
      await browser.get(`/login/cli?request=${login.requestId}${query}`);
    expect((await decide(browser, login)).status).toBe(303);
  });

  test('the page accepts no admin key and no CLI token', async () => {
    const { accessToken } = await cliSession(service, 'admin');
    const login = await beginLogin(service);
    for (const key of [service.place.adminKey, accessToken]) {
      const answer = await service.anyone('POST', '/login/cli', {
        rawBody: `request=${login.requestId}&decision=allow`,
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          origin: BASE_URL,
          authorization: `Bearer ${key}`,
          cookie: `svault=${key}`,
        },
      });
      expect(answer.headers.get('location')).toMatch(/^\/login\?/);
    }
  });

  test('the page has no frame and no script, and its form leads to itself and the client only', async () => {
    const { browser } = await signedInBrowser(service);
    const policyFor = async (more: object) => {
      const login = await beginLogin(service, { ...more });
      const { headers } = await browser.get(`/login/cli?request=${login.requestId}`);
      return headers.get('content-security-policy') ?? '';
    };
    const policy = await policyFor({ redirectUri: LOOPBACK });
    for (const part of [
      "default-src 'none'",
      "frame-ancestors 'none'",
      `form-action 'self' ${new URL(LOOPBACK).origin};`,
    ])
      expect(policy).toContain(part);
    expect(policy).not.toContain('script-src');
    expect(await policyFor({})).toContain("form-action 'self';");
  });

  test('the page shows the client name as text', async () => {
    const { browser } = await signedInBrowser(service);
    const login = await beginLogin(service, { client: '<img src=x onerror=alert(1)>"&' });
    const page = await browser.get(`/login/cli?request=${login.requestId}`);
    expect(page.text).not.toContain('<img');
    expect(page.text).toContain('&lt;img src=x onerror=alert(1)&gt;&quot;&amp;');
    expect(fieldsOf(page.text)).toEqual({ request: login.requestId });
  });

  test.each(['', '?request=', '?request=%00', '?request=clr_AAAAAAAAAAAAAAAAAAAAAA'])(
    '/login/cli%s gets a page without a form',
    async (query) => {
      const { browser } = await signedInBrowser(service);
      const page = await browser.get(`/login/cli${query}`);
      expect([page.status, page.text]).toEqual([404, expect.stringContaining('nothing to decide')]);
    },
  );
});

const grantOf = async (refreshToken: string): Promise<CliGrant> => {
  const { status, json, text } = await refresh(service, refreshToken);
  if (status !== 200) throw new Error(`not refreshed: ${text}`);
  return json as CliGrant;
};
const works = async (accessToken: string) =>
  (await bearer(service, accessToken)('GET', '/api/me')).status === 200;

describe('a refresh of a CLI session', () => {
  test('a refresh returns a new pair, and the previous access token stays valid until it expires', async () => {
    const first = await cliSession(service);
    service.clock.advance(10 * MINUTE_MS);
    const second = await grantOf(first.refreshToken);
    expect(second).toMatchObject({ expiresInSeconds: 900, user: { id: first.id } });
    expect(second.refreshToken).not.toBe(first.refreshToken);
    expect([await works(first.accessToken), await works(second.accessToken)]).toEqual([true, true]);
    service.clock.advance(5 * MINUTE_MS);
    expect([await works(first.accessToken), await works(second.accessToken)]).toEqual([false, true]);
    service.clock.advance(10 * MINUTE_MS);
    expect(await works(second.accessToken)).toBe(false);
    expect(await works((await grantOf(second.refreshToken)).accessToken)).toBe(true);
  });

  test('a session expires after 7 days, and after 8 idle hours', async () => {
    const busy = await cliSession(service);
    let { refreshToken } = busy;
    for (let hours = 0; hours < 7 * 24 - 6; hours += 6) {
      service.clock.advance(6 * HOUR_MS);
      ({ refreshToken } = await grantOf(refreshToken));
    }
    service.clock.advance(6 * HOUR_MS - 5 * MINUTE_MS);
    const last = await grantOf(refreshToken);
    expect(last.expiresInSeconds).toBe(300);
    service.clock.advance(5 * MINUTE_MS);
    expect([await works(last.accessToken), (await refresh(service, last.refreshToken)).status]).toEqual([
      false,
      401,
    ]);

    const idle = await cliSession(service);
    service.clock.advance(8 * HOUR_MS);
    expect((await refresh(service, idle.refreshToken)).status).toBe(401);
  });

  test('a refresh returns the present role, and a removed member gets nothing', async () => {
    const { refreshToken, id } = await cliSession(service, 'admin');
    await service.admin('PATCH', `/api/members/${id}`, { body: { role: 'member' } });
    const grant = await grantOf(refreshToken);
    expect(grant.user.role).toBe('member');
    expect((await bearer(service, grant.accessToken)('GET', '/api/members')).status).toBe(403);
    await service.admin('DELETE', `/api/members/${id}`);
    expect([await works(grant.accessToken), (await refresh(service, grant.refreshToken)).status]).toEqual([
      false,
      401,
    ]);
  });
});

describe('a rotated refresh token', () => {
  test('reuse of a refresh token ends the session, whichever holder presents it', async () => {
    const first = await cliSession(service);
    const second = await grantOf(first.refreshToken);
    service.clock.advance(11 * SECOND_MS);
    const stolen = await refresh(service, first.refreshToken);
    expect([stolen.status, stolen.json.code]).toEqual([401, 'UNAUTHENTICATED']);
    expect((await refresh(service, second.refreshToken)).status).toBe(401);
    expect([await works(first.accessToken), await works(second.accessToken)]).toEqual([false, false]);
    const [event] = (await service.admin('GET', '/api/audit?eventType=SESSION_REVOKED&limit=1')).json.items;
    expect(event).toMatchObject({
      outcome: 'success',
      userId: first.id,
      detail: { memberId: first.id, reason: expect.stringContaining('refresh token was reused') },
    });
  });

  test('a refresh within the grace period of 10 seconds gets the same pair again', async () => {
    const { refreshToken } = await cliSession(service);
    const answers = await Promise.all(Array.from({ length: 10 }, () => grantOf(refreshToken)));
    service.clock.advance(10 * SECOND_MS);
    answers.push(await grantOf(refreshToken));
    expect(new Set(answers.map((answer) => answer.refreshToken)).size).toBe(1);
    expect(new Set(answers.map((answer) => answer.accessToken)).size).toBe(1);
    expect(answers.at(-1)?.expiresInSeconds).toBe(890);
    expect(await works(answers[0]!.accessToken)).toBe(true);
    expect((await refresh(service, answers[0]!.refreshToken)).status).toBe(200);
  });
});

describe('an invalid token of a CLI session', () => {
  test('an invalid refresh token refreshes and ends nothing', async () => {
    const { accessToken, refreshToken } = await cliSession(service);
    for (const wrong of [
      'x',
      accessToken,
      `svclir_${'A'.repeat(43)}`,
      `${refreshToken}A`,
      refreshToken.slice(0, -1),
      refreshToken.toUpperCase(),
      service.place.adminKey,
    ])
      expect([wrong, (await refresh(service, wrong)).status]).toEqual([wrong, 401]);
    expect(await works(accessToken)).toBe(true);
    expect((await refresh(service, refreshToken)).status).toBe(200);
  });

  test('a refresh token as bearer or cookie and an access token as cookie authenticate nothing', async () => {
    const { accessToken, refreshToken } = await cliSession(service);
    const expected = await service.anyone('GET', '/api/me');
    for (const headers of [
      { authorization: `Bearer ${refreshToken}` },
      { cookie: `svault=${accessToken}` },
      { cookie: `svault=${accessToken.slice('svcli_'.length)}` },
      { cookie: `svault=${refreshToken}` },
      { authorization: `Bearer svcli_${'A'.repeat(43)}` },
      { authorization: `Bearer ${accessToken.slice(0, -4)}AAAA` },
      { authorization: `Bearer ${accessToken.replace('svcli_', 'svadmin_')}` },
    ]) {
      const answer = await clientOf(service.running.url, headers)('GET', '/api/me');
      expect([headers, answer.status, answer.text]).toEqual([headers, 401, expected.text]);
    }
    expect(await works(accessToken)).toBe(true);
  });

  test('a bearer token replaces the cookie and needs no Origin', async () => {
    const { accessToken, browser } = await cliSession(service);
    const cookie = `svault=${browser.cookies.get('svault')}`;
    const answer = await bearer(service, accessToken)('POST', '/api/agents', {
      body: { name: 'a' },
      headers: { cookie, origin: 'https://evil.example' },
    });
    expect(answer.status).toBe(201);
  });
});
