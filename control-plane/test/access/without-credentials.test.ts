import { request } from 'node:http';
import { newKey, randomToken } from '@svault/shared';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SCREENS } from '../../src/api/console/screens.ts';
import { type Answer, BASE_URL, type Call, clientOf } from '../support/management-service.ts';
import { mountedRoutes } from '../support/mounted-routes.ts';
import { type OauthFixture, connect, startOauthFixture } from '../support/oauth-client.ts';
import { proxyOn } from '../support/proxy-steps.ts';
import { CREDENTIALS, stepsOn } from '../support/service-steps.ts';

/*
 * Whatever is mounted answers 401 to who shows no credentials, unless it is written here why it does not: read from the
 * router itself, so that a new route has to be guarded or put into one of these lists.
 */

let world: OauthFixture;
let routes: readonly string[];
beforeAll(async () => {
  world = await startOauthFixture();
  routes = await mountedRoutes();
});
afterAll(() => world.service.stop());

/** The doors of agents and proxies, each with its methods; every other method is none that a path has. */
const CHANNELS: Readonly<Record<string, readonly string[]>> = {
  [CREDENTIALS]: ['GET'],
  '/api/agents/mcp': ['POST'],
  '/api/agents/mcp/': ['POST'],
  '/api/agents/access-requests': ['POST'],
  '/api/agents/proxies': ['GET'],
  '/api/proxy/mcp': ['GET', 'POST', 'DELETE', 'OPTIONS'],
  '/api/proxy/mcp/': ['GET', 'POST', 'DELETE', 'OPTIONS'],
};

/** Documents about the service that tell nothing of anybody. */
const DOCUMENTS = [
  'GET /healthz',
  'GET /readyz',
  'GET /api/openapi.json',
  'GET /.well-known/oauth-authorization-server',
  'GET /.well-known/oauth-protected-resource',
  'GET /.well-known/oauth-protected-resource/api/agents/mcp',
  'GET /.well-known/oauth-protected-resource/api/agents/mcp/',
];

/** Ways in: what is shown there is in the body, and nothing is in it here. By the status of that. */
const WAYS_IN: Readonly<Record<string, number>> = {
  'POST /api/login': 422,
  'POST /api/login/link': 422,
  'POST /api/cli/login/begin': 422,
  'POST /api/cli/login/exchange': 422,
  'POST /api/cli/login/refresh': 422,
  'POST /api/mcp-oauth/register': 400,
  'POST /api/mcp-oauth/token': 400,
  'POST /api/mcp-oauth/revoke': 400,
  'POST /api/mcp-oauth/introspect': 400,
  // A page: who asks has to say for which client. The next two are only there with an identity provider.
  'GET /api/mcp-oauth/authorize': 400,
  'GET /api/login/oidc': 404,
  'GET /api/login/oidc/callback': 404,
  'GET /login': 200,
  'GET /login/link': 401,
  'GET /login/cli': 404,
  // The console's program, the same for everybody; none has this name.
  'GET /assets/{name}': 404,
};

/** Screens of the console: there is nothing for who asks for no page, and a browser has to sign in first. */
const SCREENS_OF_CONSOLE = SCREENS.map((path) => `GET ${path.replaceAll(/:(\w+)/g, '{$1}')}`);

/** Pages that send a browser to the sign-in. */
const SIGN_IN_FIRST = ['GET /', 'GET /login/password', 'GET /vault/webhook-bind'];

/** Forms of those pages, which are taken from this service's own pages only. */
const FORMS = [
  'POST /login',
  'POST /login/cli',
  'POST /login/link',
  'POST /login/out',
  'POST /login/password',
  'POST /vault/webhook-bind',
  'POST /api/mcp-oauth/authorize',
];

const NAMED = [...DOCUMENTS, ...Object.keys(WAYS_IN), ...SIGN_IN_FIRST, ...SCREENS_OF_CONSOLE, ...FORMS];
const partsOf = (route: string): readonly [method: string, path: string] => {
  const [method = '', path = ''] = route.split(' ');
  return [method, path.replaceAll(/\{\w+\}/g, 'x')];
};
const isDoor = (route: string): boolean => partsOf(route)[1] in CHANNELS;
const guarded = (): readonly string[] => routes.filter((route) => !NAMED.includes(route) && !isDoor(route));

async function answers(
  call: Call,
  asked: readonly string[],
): Promise<readonly (readonly [route: string, answer: Answer])[]> {
  const found: [string, Answer][] = [];
  for (const route of asked) found.push([route, await call(...partsOf(route))]);
  return found;
}

test('the lists of this file name existing routes', () => {
  expect(NAMED.filter((route) => !routes.includes(route))).toEqual([]);
  for (const [path, methods] of Object.entries(CHANNELS))
    for (const method of methods) expect(routes).toContain(`${method} ${path}`);
});

test('the key of an agent at another path than that of agents is 401, and names theirs', async () => {
  const headers = { authorization: `Bearer ${newKey('svagent')}` };
  const path = '/api/agents/credential?service=github';
  const { status, json } = await world.service.anyone('GET', path, { headers });
  expect([status, json.code, json.error]).toEqual([
    401,
    'UNAUTHENTICATED',
    expect.stringContaining('GET /api/agents/credentials?service=NAME'),
  ]);
});

test('every other route responds 401 with the same body', async () => {
  const expected = await world.service.anyone('GET', '/api/me');
  expect(expected.json.code).toBe('UNAUTHENTICATED');
  expect(guarded().length).toBeGreaterThan(60);
  for (const [route, { status, text }] of await answers(world.service.anyone, guarded()))
    expect([route, status, text]).toEqual([route, 401, expected.text]);
});

test('an admin key or session is accepted in its own form only', async () => {
  const { admin, anyone, place } = world.service;
  const { adminKey } = place;
  const revoked = (await admin('POST', '/api/admin-keys', { body: { name: 'short-lived' } })).json;
  await admin('DELETE', `/api/admin-keys/${revoked.adminKey.id}`);
  const expected = await anyone('GET', '/api/me');
  for (const headers of [
    { authorization: `Bearer ${newKey('svadmin')}` },
    { authorization: `Bearer ${revoked.key}` },
    { authorization: `Basic ${Buffer.from(`admin:${adminKey}`).toString('base64')}` },
    { authorization: adminKey },
    { authorization: 'Bearer ' },
    { 'x-agent-key': adminKey },
    { cookie: `svault=${randomToken(32)}` },
    { cookie: `svault=${adminKey}; svault=${adminKey}` },
  ]) {
    const answer = await anyone('GET', '/api/me', { headers });
    expect([answer.status, answer.text]).toEqual([401, expected.text]);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="svault"');
    expect(answer.headers.get('set-cookie')).toBeNull();
  }
  expect((await anyone('GET', `/api/me?key=${adminKey}`)).text).toBe(expected.text);
});

test('the channels of agents and proxies respond 401 to their methods and 405 to every other', async () => {
  const doors = routes.filter((route) => isDoor(route) && !/^(CONNECT|TRACE) /.test(route));
  for (const [route, { status }] of await answers(world.service.anyone, doors)) {
    const [method, path] = partsOf(route);
    expect([route, status]).toEqual([route, CHANNELS[path]?.includes(method) === true ? 401 : 405]);
  }
});

test('public documents, sign-in routes, pages and forms respond as listed', async () => {
  const { anyone } = world.service;
  for (const [route, { status }] of await answers(anyone, DOCUMENTS))
    expect([route, status]).toEqual([route, 200]);
  for (const [route, { status, headers }] of await answers(anyone, Object.keys(WAYS_IN)))
    expect([route, status, headers.get('set-cookie')]).toEqual([route, WAYS_IN[route], null]);
  const browser: Call = (method, path) => anyone(method, path, { headers: { accept: 'text/html' } });
  for (const [route, { status }] of await answers(anyone, SCREENS_OF_CONSOLE))
    expect([route, status]).toEqual([route, 404]);
  for (const [route, { status, headers }] of [
    ...(await answers(anyone, SIGN_IN_FIRST)),
    ...(await answers(browser, SCREENS_OF_CONSOLE)),
  ])
    expect([route, status, headers.get('location')]).toEqual([
      route,
      303,
      expect.stringMatching(/^\/login(\?returnTo=|$)/),
    ]);
  for (const [route, { status }] of await answers(anyone, FORMS))
    expect([route, status]).toEqual([route, 403]);
});

describe('keys of agents, MCP clients and proxies', () => {
  let agent: readonly string[];
  let proxyKey: string;
  beforeAll(async () => {
    const { apiKey } = await stepsOn(world.service.running.url, world.service.admin).agent();
    const { accessToken, refreshToken } = await connect(world);
    agent = [apiKey, accessToken, refreshToken];
    proxyKey = (await proxyOn(world.service)).key;
  });

  test('no management route accepts them, in any header', async () => {
    for (const key of [...agent, proxyKey])
      for (const headers of [
        { authorization: `Bearer ${key}` },
        {
          'x-agent-key': key,
          'x-mcp-key': key,
          cookie: `svault=${key}; __Host-svault=${key}`,
          origin: BASE_URL,
        },
      ])
        for (const [route, { status }] of await answers(
          clientOf(world.service.running.url, headers),
          guarded(),
        ))
          expect([route, status]).toEqual([route, 401]);
  });

  test('are accepted by their own channels only', async () => {
    const denialAt = async (route: string, token: string): Promise<string> => {
      const call = clientOf(world.service.running.url, { authorization: `Bearer ${token}` });
      const { status, json } = await call(...partsOf(route));
      return `${status} ${json?.code}`;
    };
    for (const token of agent) expect(await denialAt('POST /api/proxy/mcp', token)).toBe('403 INVALID_KEY');
    for (const token of [...agent.slice(1), proxyKey])
      expect(await denialAt(`GET ${CREDENTIALS}`, token)).toBe('403 INVALID_KEY');
    expect(await denialAt('POST /api/agents/mcp', proxyKey)).toMatch(/^401/);
  });

  test.each<[string, (path: string) => string]>([
    ['in capitals', (path) => path.toUpperCase()],
    ['with a slash behind it', (path) => `${path}/`],
    ['with two slashes before it', (path) => `/${path}`],
    ['with two slashes in it', (path) => path.replace('/api/', '/api//')],
    ['with a dot segment', (path) => path.replace('/api/', '/api/./')],
    ['with an encoded dot segment', (path) => path.replace('/api/', '/api/%2e/')],
    ['by way of an open path', (path) => `/healthz/..${path}`],
    ['by way of an open path, encoded', (path) => `/healthz/%2e%2e${path}`],
    ['by way of a public route', (path) => `/api/openapi.json/..;${path}`],
    ['with a path parameter', (path) => path.replace('/api/', '/api;x=y/')],
    ['with an empty path parameter', (path) => `${path};`],
    ['with a dot and a parameter', (path) => path.replace('/api/', '/api/;./')],
    ['with backslashes', (path) => path.replaceAll('/', '\\').replace('\\', '/')],
    ['with encoded slashes', (path) => `/${path.slice(1).replaceAll('/', '%2f')}`],
    ['with an encoded NUL', (path) => `${path}%00`],
    ['with an encoded question mark', (path) => `${path}%3f`],
    ['as a whole address', (path) => `http://127.0.0.1:8080${path}`],
  ])('open neither a management route nor a proxy where the path is written %s', async (_how, written) => {
    const authorization = `Bearer ${agent[0]}`;
    const statuses = await Promise.all(
      guarded().map((route) => {
        const [method, path] = partsOf(route);
        return statusOf(method, written(path), { authorization });
      }),
    );
    for (const status of statuses) expect([400, 401, 404, 405]).toContain(status);
    for (const headers of [{}, { 'x-mcp-key': agent[0] ?? '' }])
      expect([400, 401, 403, 404]).toContain(await statusOf('POST', written('/api/proxy/mcp'), headers));
  });
});

/** The path is sent as it is written; `fetch` would normalize it. */
const statusOf = (method: string, path: string, headers: Readonly<Record<string, string>>): Promise<number> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(world.service.running.url);
    const type = { 'content-type': 'application/json', 'content-length': '0' };
    const options = { hostname, port, method, path, headers: { ...type, ...headers }, agent: false };
    const sent = request(options, (res) => {
      res.resume();
      resolve(res.statusCode ?? 0);
    });
    sent.on('error', reject).end();
  });
