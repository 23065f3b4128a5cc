import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, type Call, clientOf } from '../support/management-service.ts';
import { mountedRoutes } from '../support/mounted-routes.ts';
import { type OauthFixture, connect, startOauthFixture } from '../support/oauth-client.ts';
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
};

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

const NAMED = [...DOCUMENTS, ...Object.keys(WAYS_IN), ...SIGN_IN_FIRST, ...FORMS];
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

test('every other route responds 401 with the same body', async () => {
  const expected = await world.service.anyone('GET', '/api/me');
  expect(expected.json.code).toBe('UNAUTHENTICATED');
  expect(guarded().length).toBeGreaterThan(60);
  for (const [route, { status, text }] of await answers(world.service.anyone, guarded()))
    expect([route, status, text]).toEqual([route, 401, expected.text]);
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
  for (const [route, { status, headers }] of await answers(anyone, SIGN_IN_FIRST))
    expect([route, status, headers.get('location')]).toEqual([
      route,
      303,
      expect.stringMatching(/^\/login(\?returnTo=|$)/),
    ]);
  for (const [route, { status }] of await answers(anyone, FORMS))
    expect([route, status]).toEqual([route, 403]);
});

test('the keys of agents, MCP clients and proxies are accepted by their own channels only', async () => {
  const { running, admin } = world.service;
  const { apiKey } = await stepsOn(running.url, admin).agent();
  const { accessToken, refreshToken } = await connect(world);
  const body = { name: 'p', upstreamUrl: 'https://mcp.example.com/', serviceName: 'github' };
  const { key } = (await admin('POST', '/api/proxies', { body })).json;
  for (const token of [apiKey, accessToken, refreshToken, key])
    for (const headers of [{ authorization: `Bearer ${token}` }, { cookie: `svault=${token}` }])
      for (const [route, { status }] of await answers(clientOf(running.url, headers), guarded()))
        expect([route, status]).toEqual([route, 401]);
  const refusalAt = async (route: string, token: string): Promise<string> => {
    const call = clientOf(running.url, { authorization: `Bearer ${token}` });
    const { status, json } = await call(...partsOf(route));
    return `${status} ${json?.code}`;
  };
  for (const token of [apiKey, accessToken, refreshToken])
    expect(await refusalAt('POST /api/proxy/mcp', token)).toBe('403 INVALID_KEY');
  expect(await refusalAt(`GET ${CREDENTIALS}`, key)).toBe('403 INVALID_KEY');
  expect(await refusalAt('POST /api/agents/mcp', key)).toMatch(/^401/);
});
