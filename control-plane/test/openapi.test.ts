import { validate } from '@readme/openapi-parser';
import type { Router } from 'express';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { silentLogger } from '@svault/server-kit/logger';
import { ManualClock } from '@svault/shared';
import { createApp } from '../src/app.ts';
import { controlPlaneConfig } from '../src/config/config.ts';
import { type Context, createContext } from '../src/context.ts';
import { type ManagementService, type Place, makePlace, startService } from './management-service.ts';

let service: ManagementService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

/** Doors without a sign-in, each of which a test of its own covers. */
const PUBLIC = [
  'GET /healthz',
  'GET /readyz',
  'GET /api/openapi.json',
  'GET /login/link',
  'POST /login/link',
  'POST /api/login',
  'POST /api/login/link',
  'POST /api/cli/login/begin',
  'POST /api/cli/login/exchange',
  'POST /api/cli/login/refresh',
];
/** Doors that are no part of the management API and have documents of their own. */
const OUTSIDE = [
  '/',
  '/healthz',
  '/readyz',
  '/login',
  '/login/cli',
  '/login/link',
  '/login/out',
  '/login/password',
  '/api/login/oidc',
  '/api/login/oidc/callback',
  '/vault/webhook-bind',
  '/api/agents/credentials',
  '/api/agents/mcp',
  '/api/mcp-oauth/authorize',
  '/api/mcp-oauth/introspect',
  '/api/mcp-oauth/register',
  '/api/mcp-oauth/revoke',
  '/api/mcp-oauth/token',
  '/.well-known/oauth-authorization-server',
  '/.well-known/oauth-protected-resource',
  '/.well-known/oauth-protected-resource/api/agents/mcp',
];

/** Every route that is really mounted, read from express's own stack. */
async function mountedRoutes(): Promise<string[]> {
  const place: Place = await makePlace();
  const context: Context = await createContext(controlPlaneConfig(place.env), {
    clock: new ManualClock(),
    logger: silentLogger,
  });
  try {
    return [...new Set(routesOf(createApp(context).router as Router))];
  } finally {
    await context.close();
    await place.remove();
  }
}

function routesOf(router: Router): string[] {
  return router.stack.flatMap(({ route, handle }) => {
    if (route === undefined) return 'stack' in handle ? routesOf(handle as unknown as Router) : [];
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
    const methods = route.stack.flatMap(({ method }) => (method === undefined ? [] : [method.toUpperCase()]));
    return methods.map((method) => `${method} ${path}`);
  });
}

test('the document is valid OpenAPI 3.1', async () => {
  const { status, json } = await service.anyone('GET', '/api/openapi.json');
  expect(status).toBe(200);
  expect(json.openapi).toBe('3.1.0');
  const result = await validate(structuredClone(json));
  expect(result).toMatchObject({ valid: true });
});

test('every mounted management route is in the document, and nothing else is', async () => {
  const { paths } = (await service.anyone('GET', '/api/openapi.json')).json;
  const documented = Object.entries<object>(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const mounted = (await mountedRoutes()).filter((route) => !OUTSIDE.includes(route.split(' ')[1] ?? ''));
  expect(mounted.length).toBeGreaterThan(25);
  expect(mounted.sort()).toEqual(documented.sort());
});

test('every mounted route but the named public ones answers 401 without credentials', async () => {
  const expected = await service.anyone('GET', '/api/me');
  const asked = (await mountedRoutes()).filter(
    (route) => !PUBLIC.includes(route) && !OUTSIDE.includes(route.split(' ')[1] ?? ''),
  );
  expect(asked.length).toBeGreaterThan(25);
  for (const route of asked) {
    const [method = '', path = ''] = route.split(' ');
    const answer = await service.anyone(method, path.replaceAll(/\{\w+\}/g, 'x'));
    expect([route, answer.status, answer.text]).toEqual([route, 401, expected.text]);
  }
});

test('no schema of an answer has a member that could hold a credential', async () => {
  const { components, paths } = (await service.anyone('GET', '/api/openapi.json')).json;
  // What the command-line client is given are keys to this service, which it makes itself.
  for (const name of ['CliGrant', 'CliRefresh']) delete components.schemas[name];
  const text = JSON.stringify({ components, paths });
  for (const member of ['accessToken', 'refreshToken', 'hmacSecret', 'keyHash', 'keyWrapped', 'privateKey'])
    expect(text).not.toContain(`"${member}":`);
});
