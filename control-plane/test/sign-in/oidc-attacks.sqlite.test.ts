import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type TestBrowser, browserOn } from '../support/browser.ts';
import {
  CALLBACK,
  CLIENT,
  KEY_ID,
  type TestProvider,
  beginAt,
  pathOf,
  privateKey,
  startProvider,
} from '../support/identity-provider.ts';
import { type Answer, type ManagementService, startService } from '../support/management-service.ts';

const MINUTE_MS = 60_000;
const OWNER = { email: 'owner@example.org', email_verified: true };

let provider: TestProvider;
let service: ManagementService;
let browser: TestBrowser;

const settings = (issuer: string) => ({
  SV_OIDC_ISSUER: issuer,
  SV_OIDC_CLIENT_ID: CLIENT.id,
  SV_OIDC_CLIENT_SECRET: CLIENT.secret,
});

beforeAll(async () => {
  provider = await startProvider();
  provider.people.set('owner-sub', OWNER);
  service = await startService(settings(provider.issuer));
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
    const other = await startService(settings(provider.issuer));
    const elsewhere = browserOn(other.running.url);
    try {
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
    } finally {
      await other.stop();
    }
  });

  test('the callback answers GET only', async () => {
    for (const method of ['HEAD', 'POST', 'OPTIONS'])
      for (const path of ['/api/login/oidc', CALLBACK])
        expect([method, (await service.anyone(method, path)).status]).toEqual([method, 405]);
  });
});

describe('an ID token', () => {
  /** Answers the token request with a token of the test. */
  const tokenOf = (make: (claims: JWTPayload) => Promise<string> | string, nonce: string): void => {
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
    provider.interfere = (req, res) => {
      if (req.url !== '/token') return false;
      void Promise.resolve(make(claims)).then((token) => {
        res.setHeader('content-type', 'application/json');
        res.end(JSON.stringify({ access_token: 'x', token_type: 'Bearer', id_token: token }));
      });
      return true;
    };
  };
  const signed = (claims: JWTPayload, key = privateKey, kid: string = KEY_ID): Promise<string> =>
    new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid }).sign(key);
  const answerTo = async (
    make: (claims: JWTPayload) => Promise<string> | string,
    by = browser,
  ): Promise<Answer> => {
    const start = await beginAt(by);
    const callback = await provider.goThrough(start);
    tokenOf(make, new URL(start).searchParams.get('nonce') ?? '');
    return by.get(pathOf(callback));
  };

  test('a valid ID token signs its person in', async () => {
    expect((await answerTo((claims) => signed(claims))).status).toBe(303);
  });

  const without = (name: string, claims: JWTPayload): JWTPayload =>
    Object.fromEntries(Object.entries(claims).filter(([claim]) => claim !== name));

  const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;

  test.each<[string, (claims: JWTPayload) => Promise<string> | string]>([
    ['under another key', (claims) => signed(claims, stranger)],
    ['under a key that the provider does not have', (claims) => signed(claims, stranger, 'b')],
    ['without a signature', (claims) => new UnsecuredJWT(claims).encode()],
    [
      'signed with our client secret',
      (claims) =>
        new SignJWT(claims)
          .setProtectedHeader({ alg: 'HS256' })
          .sign(new TextEncoder().encode(CLIENT.secret)),
    ],
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

  test('an ID token without a signature or with an HMAC of the client secret is rejected', async () => {
    const metadata = await (await fetch(`${provider.issuer}/.well-known/openid-configuration`)).json();
    const fresh = await startService(settings(provider.issuer));
    const by = browserOn(fresh.running.url);
    try {
      for (const make of [
        (claims: JWTPayload) => new UnsecuredJWT(claims).encode(),
        (claims: JWTPayload) =>
          new SignJWT(claims)
            .setProtectedHeader({ alg: 'HS256' })
            .sign(new TextEncoder().encode(CLIENT.secret)),
      ]) {
        provider.interfere = (req, res) => {
          if (req.url?.startsWith('/.well-known') !== true) return false;
          const algorithms = { id_token_signing_alg_values_supported: ['none', 'HS256'] };
          res.setHeader('content-type', 'application/json');
          res.end(JSON.stringify({ ...(metadata as object), ...algorithms }));
          return true;
        };
        expect(seen(await answerTo(make, by))).toEqual([400, 'SIGN_IN_FAILED']);
      }
    } finally {
      await fresh.stop();
    }
  });

  test('a missing ID token is an error of the provider', async () => {
    expect(seen(await answerTo(() => 'x.y.z'))).toEqual([503, 'PROVIDER_UNAVAILABLE']);
  });

  test('user information about another subject is rejected', async () => {
    const newcomer = randomUUID();
    provider.interfere = (req, res) => {
      if (req.url !== '/me') return false;
      res.setHeader('content-type', 'application/json');
      res.end(JSON.stringify({ sub: newcomer, ...OWNER }));
      return true;
    };
    // A person without an identity, so that the address is used.
    const fresh = await startService(settings(provider.issuer));
    try {
      const by = browserOn(fresh.running.url);
      const own = await untilCallback(by);
      expect(seen(await by.get(pathOf(own)))).toEqual([400, 'SIGN_IN_FAILED']);
      provider.interfere = undefined;
      expect((await by.get(pathOf(await untilCallback(by)))).status).toBe(303);
    } finally {
      await fresh.stop();
    }
  });
});

describe('a provider', () => {
  /** A new service without cached metadata. */
  const withFresh = async (
    work: (by: TestBrowser, fresh: ManagementService) => Promise<void>,
  ): Promise<void> => {
    const fresh = await startService(settings(provider.issuer));
    try {
      await work(browserOn(fresh.running.url), fresh);
    } finally {
      await fresh.stop();
    }
  };

  test('an unavailable provider gets an error page, and sign-ins work again once it is back', async () => {
    const first = await startProvider();
    const { issuer } = first;
    await first.stop();
    const own = await startService(settings(issuer));
    const by = browserOn(own.running.url);
    try {
      const page = await by.get('/api/login/oidc');
      expect(seen(page)).toEqual([503, 'PROVIDER_UNAVAILABLE']);
      expect(page.headers.get('retry-after')).toBe('5');
      const json = await by.get('/api/login/oidc', { accept: 'application/json' });
      expect(json.json).toEqual({ error: expect.any(String), code: 'PROVIDER_UNAVAILABLE', retryAfter: 5 });
      expect((await own.anyone('GET', '/readyz')).status).toBe(200);

      const back = await startProvider({ port: Number(new URL(issuer).port) });
      back.people.set('owner-sub', OWNER);
      back.signsIn = 'owner-sub';
      const callback = await back.goThrough(await beginAt(by));
      await back.stop();
      expect(seen(await by.get(pathOf(callback)))).toEqual([503, 'PROVIDER_UNAVAILABLE']);
    } finally {
      await own.stop();
    }
  });

  test.each<[string, number, string, string]>([
    ['an error', 500, 'application/json', '{"error":"server_error","error_description":"canary"}'],
    ['a page', 200, 'text/html', '<h1>canary</h1>'],
    ['half an answer', 200, 'application/json', '{"issuer":"canary'],
    ['a flood', 200, 'application/json', `"${'x'.repeat(300_000)}"`],
    ['the metadata of another', 200, 'application/json', '{"issuer":"https://evil.example"}'],
  ])(
    'a provider that answers %s is unavailable, for discovery and for the token',
    async (_what, status, type, body) => {
      const answers =
        (path: RegExp): TestProvider['interfere'] =>
        (req, res) => {
          if (!path.test(req.url ?? '')) return false;
          res.writeHead(status, { 'content-type': type }).end(body);
          return true;
        };
      await withFresh(async (by) => {
        provider.interfere = answers(/^\/\.well-known/);
        const page = await by.get('/api/login/oidc');
        expect(seen(page)).toEqual([503, 'PROVIDER_UNAVAILABLE']);
        expect(page.text).not.toContain('canary');
        provider.interfere = undefined;
        const path = pathOf(await provider.goThrough(await beginAt(by)));
        provider.interfere = answers(/^\/token/);
        const answer = await by.get(path);
        expect(answer.text).not.toContain('canary');
        expect([400, 503]).toContain(answer.status);
        seen(answer);
      });
    },
  );

  test('a provider that rejects the client secret is PROVIDER_UNAVAILABLE', async () => {
    const own = await startService({ ...settings(provider.issuer), SV_OIDC_CLIENT_SECRET: 'another secret' });
    const by = browserOn(own.running.url);
    try {
      const path = pathOf(await provider.goThrough(await beginAt(by)));
      expect(seen(await by.get(path))).toEqual([503, 'PROVIDER_UNAVAILABLE']);
    } finally {
      await own.stop();
    }
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
      await withFresh(async (by) => {
        const metadata = await (await fetch(`${provider.issuer}/.well-known/openid-configuration`)).json();
        provider.interfere = (req, res) => {
          if (req.url?.startsWith('/.well-known') !== true) return false;
          res.setHeader('content-type', 'application/json');
          res.end(JSON.stringify({ ...(metadata as object), token_endpoint: `${url}/token` }));
          return true;
        };
        const path = pathOf(await provider.goThrough(await beginAt(by)));
        expect(seen(await by.get(path))).toEqual([503, 'PROVIDER_UNAVAILABLE']);
        expect(asked).toEqual([]);
      });
    });

    test('a redirect of the provider is not followed', async () => {
      await withFresh(async (by) => {
        provider.interfere = (req, res) => {
          if (req.url?.startsWith('/.well-known') !== true) return false;
          res.writeHead(307, { location: `${url}/.well-known/openid-configuration` }).end();
          return true;
        };
        expect(seen(await by.get('/api/login/oidc'))).toEqual([503, 'PROVIDER_UNAVAILABLE']);
        expect(asked).toEqual([]);
      });
    });
  });

  test('concurrent sign-ins share one request for metadata', async () => {
    await withFresh(async (_by, fresh) => {
      provider.asked.length = 0;
      await Promise.all(Array.from({ length: 20 }, () => beginAt(browserOn(fresh.running.url))));
      expect(provider.asked).toEqual(['/.well-known/openid-configuration']);
    });
  });
});
