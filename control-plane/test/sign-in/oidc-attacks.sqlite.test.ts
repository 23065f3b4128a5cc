import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { freePort } from '@svault/compose/free-port';
import { type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type TestBrowser, browserOn } from '../support/browser.ts';
import {
  CALLBACK,
  CLIENT,
  KEY_ID,
  OWNER,
  type TestProvider,
  beginAt,
  pathOf,
  privateKey,
  settingsFor,
  startProvider,
} from '../support/identity-provider.ts';
import { type Answer, type ManagementService, startService } from '../support/management-service.ts';
import { serviceInTest } from '../support/use-service.ts';

const MINUTE_MS = 60_000;

let provider: TestProvider;
let service: ManagementService;
let browser: TestBrowser;

beforeAll(async () => {
  provider = await startProvider();
  provider.people.set('owner-sub', OWNER);
  service = await startService(settingsFor(provider));
});
beforeEach(() => {
  browser = browserOn(service.running.url);
  provider.signsIn = 'owner-sub';
  provider.asked.length = 0;
});
afterEach(() => {
  provider.interfere = undefined;
});
afterAll(async () => {
  await service.stop();
  await provider.stop();
});

/** As far as the provider's redirect back. */
const untilCallback = async (by = browser): Promise<URL> => provider.goThrough(await beginAt(by));

/** Answers in place of the provider: JSON of an object, or a text as it is. */
const interfere = (
  path: RegExp,
  body: object | string,
  status = 200,
  headers: Record<string, string> = {},
): void => {
  provider.interfere = (req, res) => {
    if (!path.test(req.url ?? '')) return false;
    res.writeHead(status, { 'content-type': 'application/json', ...headers });
    res.end(typeof body === 'string' ? body : JSON.stringify(body));
    return true;
  };
};
const METADATA = /^\/\.well-known/;
/** Changes members of the provider's metadata. */
const changeMetadata = async (changes: object): Promise<void> => {
  const metadata = await (await fetch(`${provider.issuer}/.well-known/openid-configuration`)).json();
  interfere(METADATA, { ...(metadata as object), ...changes });
};

/** Expects an error page with a status, a code, no session, and a link to begin again. */
const seen = (answer: Answer) => {
  expect(answer.headers.getSetCookie().some((line) => line.startsWith('svault='))).toBe(false);
  return [answer.status, /<code>([A-Z_]+)<\/code>/.exec(answer.text)?.[1] ?? answer.json?.code];
};

describe('a callback', () => {
  test('a callback with access_denied shows a fixed message, as a page or as JSON', async () => {
    provider.signsIn = undefined;
    const page = await browser.get(pathOf(await untilCallback()));
    expect(seen(page)).toEqual([403, 'SIGN_IN_DENIED']);
    expect(page.text).not.toContain('canary');
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    const json = await browser.get(pathOf(await untilCallback()), { accept: 'application/json' });
    expect([json.status, json.json]).toEqual([403, { error: expect.any(String), code: 'SIGN_IN_DENIED' }]);
  });

  test('a callback with another state or none is rejected without a call to the provider', async () => {
    for (const state of ['x', '', undefined]) {
      const url = await untilCallback();
      if (state === undefined) url.searchParams.delete('state');
      else url.searchParams.set('state', state);
      provider.asked.length = 0;
      expect(seen(await browser.get(pathOf(url)))).toEqual([400, 'SIGN_IN_EXPIRED']);
      expect(provider.asked).toEqual([]);
    }
  });

  test("a callback of an attacker's sign-in does not sign a victim in", async () => {
    const attackers = pathOf(await untilCallback(browserOn(service.running.url)));
    expect(seen(await browser.get(attackers))).toEqual([400, 'SIGN_IN_EXPIRED']);
    await beginAt(browser);
    expect(seen(await browser.get(attackers))).toEqual([400, 'SIGN_IN_EXPIRED']);
  });

  test('a callback works once, also with a copied cookie', async () => {
    const path = pathOf(await untilCallback());
    const kept = browser.cookies.get('svault-oidc') ?? '';
    expect((await browser.get(path)).status).toBe(303);
    browser.cookies.delete('svault');
    expect(seen(await browser.get(path))).toEqual([400, 'SIGN_IN_EXPIRED']);
    browser.cookies.set('svault-oidc', kept);
    expect(seen(await browser.get(path))).toEqual([400, 'SIGN_IN_FAILED']);
  });

  test('a callback after ten minutes is rejected', async () => {
    const path = pathOf(await untilCallback());
    service.clock.advance(10 * MINUTE_MS);
    expect(seen(await browser.get(path))).toEqual([400, 'SIGN_IN_EXPIRED']);
  });

  test.each([
    ['of another issuer', 'https://evil.example'],
    ['without its issuer, which the provider promised', undefined],
  ])('%s gets no code (RFC 9207)', async (_what, iss) => {
    const url = await untilCallback();
    if (iss === undefined) url.searchParams.delete('iss');
    else url.searchParams.set('iss', iss);
    expect(seen(await browser.get(pathOf(url)))).toEqual([400, 'SIGN_IN_FAILED']);
    expect(provider.asked).not.toContain('/token');
  });

  test('a callback with another code or two is rejected', async () => {
    const another = await untilCallback();
    another.searchParams.set('code', 'x');
    expect(seen(await browser.get(pathOf(another)))).toEqual([400, 'SIGN_IN_FAILED']);
    const twice = await untilCallback();
    twice.searchParams.append('code', 'x');
    expect(seen(await browser.get(pathOf(twice)))).toEqual([400, 'SIGN_IN_FAILED']);
  });

  test('a callback with a changed, foreign or repeated cookie is rejected', async () => {
    const other = await serviceInTest(settingsFor(provider));
    const elsewhere = browserOn(other.running.url);
    const url = await untilCallback(elsewhere);
    const sealed = elsewhere.cookies.get('svault-oidc') ?? '';
    const own = await untilCallback();
    const mine = browser.cookies.get('svault-oidc') ?? '';
    const ask = (path: string, cookie: string) =>
      service.anyone('GET', path, { headers: { cookie, accept: 'text/html' } });
    const changed = `${mine.slice(0, -6)}${mine.at(-6) === 'A' ? 'B' : 'A'}${mine.slice(-5)}`;
    for (const [path, cookie] of [
      [pathOf(url), `svault-oidc=${sealed}`],
      [pathOf(own), `svault-oidc=${changed}`],
      [pathOf(own), `svault-oidc=${mine}; svault-oidc=${mine}`],
      [pathOf(own), 'svault-oidc='],
      [pathOf(own), `svault-oidc=${'A'.repeat(5_000)}`],
    ] as const)
      expect(seen(await ask(path, cookie))).toEqual([400, 'SIGN_IN_EXPIRED']);
    expect((await ask(pathOf(own), `svault-oidc=${mine}`)).status).toBe(303);
  });

  test('the callback answers GET only', async () => {
    for (const method of ['HEAD', 'POST', 'OPTIONS'])
      for (const path of ['/api/login/oidc', CALLBACK])
        expect([method, (await service.anyone(method, path)).status]).toEqual([method, 405]);
  });
});

describe('an ID token', () => {
  /** Answers the token request with a token of the test. */
  const tokenOf = async (
    make: (claims: JWTPayload) => Promise<string> | string,
    nonce: string,
  ): Promise<void> => {
    const now = Math.floor(Date.now() / 1_000);
    const claims = {
      iss: provider.issuer,
      sub: 'owner-sub',
      aud: CLIENT.id,
      nonce,
      iat: now,
      exp: now + 600,
      ...OWNER,
    };
    interfere(/^\/token/, { access_token: 'x', token_type: 'Bearer', id_token: await make(claims) });
  };
  const signed = (claims: JWTPayload, key = privateKey, kid: string = KEY_ID): Promise<string> =>
    new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid }).sign(key);
  const answerTo = async (
    make: (claims: JWTPayload) => Promise<string> | string,
    by = browser,
  ): Promise<Answer> => {
    const start = await beginAt(by);
    const callback = await provider.goThrough(start);
    await tokenOf(make, new URL(start).searchParams.get('nonce') ?? '');
    return by.get(pathOf(callback));
  };

  test('a valid ID token signs its person in', async () => {
    expect((await answerTo((claims) => signed(claims))).status).toBe(303);
  });

  const without = (name: string, claims: JWTPayload): JWTPayload =>
    Object.fromEntries(Object.entries(claims).filter(([claim]) => claim !== name));

  const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;

  type Forgery = [string, (claims: JWTPayload) => Promise<string> | string];
  const hmacKey = new TextEncoder().encode(CLIENT.secret);
  const FORGED: readonly Forgery[] = [
    ['without a signature', (claims) => new UnsecuredJWT(claims).encode()],
    [
      'signed with our client secret',
      (claims) => new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(hmacKey),
    ],
  ];

  test.each<Forgery>([
    ['under another key', (claims) => signed(claims, stranger)],
    ['under a key that the provider does not have', (claims) => signed(claims, stranger, 'b')],
    ...FORGED,
    ['for another client', (claims) => signed({ ...claims, aud: 'another' })],
    [
      'for others too, without saying for whom',
      (claims) => signed({ ...claims, aud: [CLIENT.id, 'another'] }),
    ],
    ['of another issuer', (claims) => signed({ ...claims, iss: 'https://evil.example' })],
    ['of another sign-in', (claims) => signed({ ...claims, nonce: 'x' })],
    ['without a nonce', (claims) => signed(without('nonce', claims))],
    [
      'that is over',
      (claims) => signed({ ...claims, exp: Number(claims.iat) - 3_600, iat: Number(claims.iat) - 7_200 }),
    ],
    ['without a subject', (claims) => signed(without('sub', claims))],
    ['whose subject is too long', (claims) => signed({ ...claims, sub: 'x'.repeat(256) })],
    ['whose subject has a NUL in it', (claims) => signed({ ...claims, sub: 'owner-sub\0' })],
    [
      'for us, given to another',
      (claims) => signed({ ...claims, aud: [CLIENT.id, 'another'], azp: 'another' }),
    ],
    ['without an end', (claims) => signed(without('exp', claims))],
    ['without a beginning', (claims) => signed(without('iat', claims))],
  ])('an ID token %s signs nobody in', async (_what, make) => {
    expect(seen(await answerTo(make))).toEqual([400, 'SIGN_IN_FAILED']);
  });

  test.each(FORGED)(
    'an ID token %s is rejected, whatever the metadata say of algorithms',
    async (_what, make) => {
      const by = browserOn((await serviceInTest(settingsFor(provider))).running.url);
      await changeMetadata({ id_token_signing_alg_values_supported: ['none', 'HS256'] });
      expect(seen(await answerTo(make, by))).toEqual([400, 'SIGN_IN_FAILED']);
    },
  );

  test('a missing ID token is an error of the provider', async () => {
    expect(seen(await answerTo(() => 'x.y.z'))).toEqual([503, 'PROVIDER_UNAVAILABLE']);
  });

  test('user information about another subject is rejected', async () => {
    interfere(/^\/me/, { sub: randomUUID(), ...OWNER });
    // A person without an identity, so that the address is used.
    const fresh = await serviceInTest(settingsFor(provider));
    const by = browserOn(fresh.running.url);
    const own = await untilCallback(by);
    expect(seen(await by.get(pathOf(own)))).toEqual([400, 'SIGN_IN_FAILED']);
    provider.interfere = undefined;
    expect((await by.get(pathOf(await untilCallback(by)))).status).toBe(303);
  });
});

describe('a provider', () => {
  /** At a new service, without cached metadata. */
  const freshBrowser = async (): Promise<TestBrowser> =>
    browserOn((await serviceInTest(settingsFor(provider))).running.url);

  test('an unavailable provider gets an error page, and sign-ins work again once it is back', async () => {
    // One that nobody else is given while the provider is away.
    const port = await freePort();
    const first = await startProvider({ port });
    await first.stop();
    const own = await serviceInTest(settingsFor(first));
    const by = browserOn(own.running.url);
    const page = await by.get('/api/login/oidc');
    expect(seen(page)).toEqual([503, 'PROVIDER_UNAVAILABLE']);
    expect(page.headers.get('retry-after')).toBe('5');
    const json = await by.get('/api/login/oidc', { accept: 'application/json' });
    expect(json.json).toEqual({ error: expect.any(String), code: 'PROVIDER_UNAVAILABLE', retryAfter: 5 });
    expect((await own.anyone('GET', '/readyz')).status).toBe(200);

    const back = await startProvider({ port });
    back.people.set('owner-sub', OWNER);
    back.signsIn = 'owner-sub';
    const callback = await back.goThrough(await beginAt(by));
    await back.stop();
    expect(seen(await by.get(pathOf(callback)))).toEqual([503, 'PROVIDER_UNAVAILABLE']);
  });

  test('a provider that answers an error, a page, half an answer, a flood or of another is unavailable, for discovery and for the token', async () => {
    const by = await freshBrowser();
    const answers: readonly [number, string, string][] = [
      [500, 'application/json', '{"error":"server_error","error_description":"canary"}'],
      [200, 'text/html', '<h1>canary</h1>'],
      [200, 'application/json', '{"issuer":"canary'],
      [200, 'application/json', `"${'x'.repeat(300_000)}"`],
      [200, 'application/json', '{"issuer":"https://evil.example"}'],
    ];
    for (const [status, type, body] of answers) {
      interfere(METADATA, body, status, { 'content-type': type });
      const page = await by.get('/api/login/oidc');
      expect([body, ...seen(page)]).toEqual([body, 503, 'PROVIDER_UNAVAILABLE']);
      expect(page.text).not.toContain('canary');
    }
    provider.interfere = undefined;
    for (const [status, type, body] of answers) {
      const path = pathOf(await provider.goThrough(await beginAt(by)));
      interfere(/^\/token/, body, status, { 'content-type': type });
      const answer = await by.get(path);
      expect(answer.text).not.toContain('canary');
      expect([400, 503]).toContain(answer.status);
      seen(answer);
    }
  });

  test('a provider that rejects the client secret is PROVIDER_UNAVAILABLE', async () => {
    const own = await serviceInTest({ ...settingsFor(provider), SV_OIDC_CLIENT_SECRET: 'another secret' });
    const by = browserOn(own.running.url);
    const path = pathOf(await provider.goThrough(await beginAt(by)));
    expect(seen(await by.get(path))).toEqual([503, 'PROVIDER_UNAVAILABLE']);
  });

  describe('metadata with an endpoint elsewhere', () => {
    let elsewhere: Server;
    let url: string;
    const asked: string[] = [];
    beforeAll(async () => {
      elsewhere = createServer((req, res) => {
        asked.push(req.url ?? '');
        res.end('{}');
      });
      await new Promise<void>((resolve) => void elsewhere.listen(0, '127.0.0.2', resolve));
      url = `http://127.0.0.2:${(elsewhere.address() as AddressInfo).port}`;
    });
    afterAll(() => new Promise((resolve) => elsewhere.close(resolve)));

    test('a token endpoint on another loopback address gets no call', async () => {
      const by = await freshBrowser();
      await changeMetadata({ token_endpoint: `${url}/token` });
      const path = pathOf(await provider.goThrough(await beginAt(by)));
      expect(seen(await by.get(path))).toEqual([503, 'PROVIDER_UNAVAILABLE']);
      expect(asked).toEqual([]);
    });

    test('a redirect of the provider is not followed', async () => {
      interfere(METADATA, '', 307, { location: `${url}/.well-known/openid-configuration` });
      expect(seen(await (await freshBrowser()).get('/api/login/oidc'))).toEqual([
        503,
        'PROVIDER_UNAVAILABLE',
      ]);
      expect(asked).toEqual([]);
    });
  });

  test('concurrent sign-ins share one request for metadata', async () => {
    const { running } = await serviceInTest(settingsFor(provider));
    provider.asked.length = 0;
    await Promise.all(Array.from({ length: 20 }, () => beginAt(browserOn(running.url))));
    expect(provider.asked).toEqual(['/.well-known/openid-configuration']);
  });
});
