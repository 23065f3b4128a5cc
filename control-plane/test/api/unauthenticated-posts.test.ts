import { beforeAll, expect, test } from 'vitest';
import { byHand } from '../support/http-by-hand.ts';
import { BASE_URL } from '../support/management-service.ts';
import { serviceInTest, useService } from '../support/use-service.ts';
import { mountedRoutes } from '../support/mounted-routes.ts';

/*
 * The cost of an unauthenticated POST. The routes are read from the router, so that a new one is tested without being named.
 */

/** Above every size limit of an unauthenticated body, except the 64 KiB of a message with a well-formed key. */
const TOO_MUCH = 16 * 1024 + 1;
const FORM = 'application/x-www-form-urlencoded';
const JSON_TYPE = 'application/json';

/** Each limit per address, once. */
const ONCE = Object.fromEntries(
  [
    ...['LINK_LOGIN', 'PASSWORD_LOGIN', 'CLI_LOGIN_BEGIN', 'CLI_LOGIN_EXCHANGE', 'CLI_LOGIN_REFRESH'],
    ...['OAUTH_REGISTER', 'OAUTH_AUTHORIZE', 'OAUTH_TOKEN', 'OAUTH_REVOKE', 'OAUTH_INTROSPECT'],
  ].map((scope) => [`SV_LIMIT_${scope}`, '1']),
);

const service = useService();
let posts: readonly string[];
beforeAll(async () => {
  const routes = await mountedRoutes();
  posts = routes.flatMap((route) => (route.startsWith('POST ') ? route.slice('POST '.length) : []));
  expect(posts.length).toBeGreaterThan(40);
});

/** The answer to a request that announces a body and never sends it. */
const headOf = (url: string, type: string, length: number) =>
  byHand(url, {
    headers: { origin: BASE_URL, 'content-type': type, 'content-length': length },
    // Sends the head.
    chunks: [''],
    open: true,
  });

const at = (path: string, on = service): string => on.running.url + path.replaceAll(/\{\w+\}/g, 'x');

test('no POST route waits for a body of an unsupported type', async () => {
  for (const path of posts) {
    const { status } = await headOf(at(path), 'text/plain', 100);
    expect([path, status]).toEqual([path, expect.toBeOneOf([303, 400, 401, 403, 404, 405, 415])]);
  }
});

test('no POST route waits for an unauthenticated body of more than 16 KiB', async () => {
  for (const path of posts)
    for (const type of [JSON_TYPE, FORM]) {
      const { status } = await headOf(at(path), type, TOO_MUCH);
      expect([path, type, status]).toEqual([
        path,
        type,
        expect.toBeOneOf([303, 400, 401, 403, 404, 405, 413, 415]),
      ]);
    }
});

test('every unauthenticated POST route checks a limit per address before it reads the body', async () => {
  const limited = await serviceInTest(ONCE);
  const open = new Map<string, number>();
  for (const path of posts) {
    const type = /mcp-oauth\/register|^\/api\/(?!mcp-oauth)/.test(path) ? JSON_TYPE : FORM;
    const rawBody = type === FORM ? '' : '{}';
    const headers = { origin: BASE_URL, 'content-type': type };
    const first = await limited.anyone('POST', path.replaceAll(/\{\w+\}/g, 'x'), { rawBody, headers });
    const needsCredentials = ['UNAUTHENTICATED', 'MISSING_KEY'].includes(first.json?.code as string);
    // Sign in first; or sign out, which reads nothing.
    const needsSession = first.headers.get('location')?.startsWith('/login') === true;
    if (first.status === 405 || needsCredentials || needsSession) continue;
    open.set(path, first.status);
    // Its limit is also per client, which the body names.
    const second =
      path === '/api/mcp-oauth/token'
        ? await limited.anyone('POST', path, { rawBody, headers: { 'content-type': type } })
        : await headOf(at(path, limited), type, 100);
    expect([path, second.status]).toEqual([path, 429]);
  }
  expect(open.size).toBeGreaterThanOrEqual(11);
  // The page shares the limit of the API, which was asked before it.
  expect([open.get('/api/login/link'), open.get('/login/link')]).toEqual([422, 429]);
});

test('pages that need a session redirect to the sign-in without reading the form', async () => {
  for (const path of ['/login/cli?request=clr_x', '/vault/webhook-bind', '/login/password']) {
    const { status, headers } = await headOf(service.running.url + path, FORM, 100);
    const { pathname } = new URL(path, BASE_URL);
    const returnTo = pathname === '/login/cli' ? path : pathname;
    expect([status, headers.location]).toEqual([
      303,
      `/login?${new URLSearchParams({ returnTo }).toString()}`,
    ]);
  }
});
