import { validate } from '@readme/openapi-parser';
import { expect, test } from 'vitest';
import { SCREENS } from '../../src/api/console/screens.ts';
import { useService } from '../support/use-service.ts';
import { mountedRoutes } from '../support/mounted-routes.ts';

const service = useService();

/** Paths of the other APIs, which the document does not describe. */
const OUTSIDE = [
  '/',
  ...SCREENS.map((path) => path.replaceAll(/:(\w+)/g, '{$1}')),
  '/assets/{name}',
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
  '/api/agents/mcp/',
  '/api/agents/access-requests',
  '/api/agents/proxies',
  '/api/proxy/mcp',
  '/api/proxy/mcp/',
  '/api/mcp-oauth/authorize',
  '/api/mcp-oauth/introspect',
  '/api/mcp-oauth/register',
  '/api/mcp-oauth/revoke',
  '/api/mcp-oauth/token',
  '/.well-known/oauth-authorization-server',
  '/.well-known/oauth-protected-resource',
  '/.well-known/oauth-protected-resource/api/agents/mcp',
  '/.well-known/oauth-protected-resource/api/agents/mcp/',
];

test('GET /api/openapi.json is valid OpenAPI 3.1', async () => {
  const { status, json } = await service.anyone('GET', '/api/openapi.json');
  expect(status).toBe(200);
  expect(json.openapi).toBe('3.1.0');
  const result = await validate(structuredClone(json));
  expect(result).toMatchObject({ valid: true });
});

test('the OpenAPI document describes every mounted management route and no other', async () => {
  const { paths } = (await service.anyone('GET', '/api/openapi.json')).json;
  const documented = Object.entries<object>(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const mounted = (await mountedRoutes()).filter((route) => !OUTSIDE.includes(route.split(' ')[1] ?? ''));
  expect(mounted.length).toBeGreaterThan(25);
  expect(mounted.sort()).toEqual(documented.sort());
});

test('every route rejects members of a body that its schema does not name', async () => {
  const { components, paths } = (await service.anyone('GET', '/api/openapi.json')).json;
  const bodies = Object.values<object>(paths).flatMap((methods) =>
    Object.values(methods).flatMap(
      ({ requestBody }) => requestBody?.content['application/json'].schema ?? [],
    ),
  );
  expect(bodies.length).toBeGreaterThan(15);
  for (const { $ref, ...inline } of bodies)
    expect($ref === undefined ? inline : components.schemas[$ref.split('/').at(-1)]).toMatchObject({
      type: 'object',
      additionalProperties: false,
    });
});

test('no response schema has a member that could hold a credential', async () => {
  const { components, paths } = (await service.anyone('GET', '/api/openapi.json')).json;
  // What the command-line client is given are keys to this service, which it makes itself.
  for (const name of ['CliGrant', 'CliRefresh']) delete components.schemas[name];
  // No answers: the one secret that the service is given beside its own keys (PROTOCOL.md section 7).
  for (const name of ['NewProvider', 'ProviderChanges']) delete components.schemas[name];
  const text = JSON.stringify({ components, paths });
  for (const member of ['accessToken', 'refreshToken', 'hmacSecret', 'keyHash', 'keyWrapped', 'privateKey'])
    expect(text).not.toContain(`"${member}":`);
});
