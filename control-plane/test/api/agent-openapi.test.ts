import { readFileSync } from 'node:fs';
import { validate } from '@readme/openapi-parser';
import { CONTROL_PLANE_ERRORS, type ErrorDescription } from '@svault/shared/error-catalog';
import { expect, test } from 'vitest';
import { APPROVALS_PATH } from '../../src/api/agent-approvals/approval-handler.ts';
import { HTTP_ENDPOINT } from '../../src/api/proxy/endpoints.ts';
import { PROXY_PATHS } from '../../src/core/proxy.ts';
import { mountedRoutes } from '../support/mounted-routes.ts';
import { useService } from '../support/use-service.ts';

// docs/reference/agent-api.openapi.json describes what agents, MCP clients and resource servers call.

interface Operation {
  readonly responses: Readonly<Record<string, { readonly description: string }>>;
}

const PAGE = new URL('../../../docs/reference/agent-api.openapi.json', import.meta.url);
const document = JSON.parse(readFileSync(PAGE, 'utf8')) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
};
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    ...operation,
  })),
);
const service = useService();

test('the OpenAPI document of the agent API is valid', async () => {
  expect(await validate(JSON.parse(readFileSync(PAGE, 'utf8')))).toMatchObject({ valid: true });
});

test('the document describes every path that agents, MCP clients and resource servers call, and no other', async () => {
  const called =
    /^\/(?:api\/agents\/(?:credentials|mcp|proxies|access-requests)|api\/proxy\/|api\/mcp-oauth\/|\.well-known\/)/;
  const paths = (await mountedRoutes()).map((route) => route.split(' ')[1] ?? '');
  // A slash may follow some of them.
  const wanted = new Set(paths.filter((path) => called.test(path)).map((path) => path.replace(/\/$/, '')));
  // The webhook's, where the second step goes.
  wanted.add('/v1/credential');
  // Served before Express, for every path below it.
  wanted.add(`${PROXY_PATHS.http}/{path}`);
  wanted.add(`${APPROVALS_PATH}/{id}`);
  expect(Object.keys(document.paths).toSorted()).toEqual([...wanted].toSorted());
});

test('the document describes each OpenAPI method that proxies of HTTP APIs accept', () => {
  const described = Object.keys(document.paths[`${PROXY_PATHS.http}/{path}`] ?? {});
  // TRACE is in OpenAPI, but no proxy accepts it.
  const inOpenApi = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];
  const taken = HTTP_ENDPOINT.methods.map((method) => method.toLowerCase());
  expect(described.toSorted()).toEqual(inOpenApi.filter((method) => taken.includes(method)).toSorted());
});

test('a code is documented at a status that it is sent with', () => {
  const wrong = operations.flatMap(({ name, responses }) =>
    Object.entries(responses).flatMap(([status, { description }]) =>
      (description.match(/\b[A-Z]+(?:_[A-Z]+)+\b/g) ?? []).flatMap((code) => {
        const known = (CONTROL_PLANE_ERRORS as Readonly<Record<string, ErrorDescription>>)[code];
        // One that is not in this catalog is the webhook's.
        return known === undefined || known.statuses.includes(Number(status))
          ? []
          : [`${name} ${status} ${code}`];
      }),
    ),
  );
  expect(wrong).toEqual([]);
});

const form = { 'content-type': 'application/x-www-form-urlencoded' };
const json = { 'content-type': 'application/json' };
const UNKNOWN_KEY = { authorization: 'Bearer svagent_nobody' };

test.each([
  ['GET /api/agents/credentials', {}, undefined, 401, 'MISSING_KEY'],
  ['GET /api/agents/credentials', UNKNOWN_KEY, undefined, 403, 'INVALID_KEY'],
  ['POST /api/agents/mcp', json, '{}', 401, 'MISSING_KEY'],
  ['POST /api/proxy/mcp', json, '{}', 401, 'MISSING_KEY'],
  ['GET /api/proxy/mcp', { 'x-mcp-key': 'mcp_nobody' }, undefined, 403, 'INVALID_KEY'],
  ['GET /api/agents/proxies', {}, undefined, 401, 'MISSING_KEY'],
  ['GET /api/agents/proxies', UNKNOWN_KEY, undefined, 403, 'INVALID_KEY'],
  ['GET /api/agents/approvals/{id}', {}, undefined, 401, 'MISSING_KEY'],
  ['GET /api/agents/approvals/{id}', UNKNOWN_KEY, undefined, 403, 'INVALID_KEY'],
  ['POST /api/agents/access-requests', json, '{}', 401, 'MISSING_KEY'],
  ['GET /api/proxy/http/{path}', {}, undefined, 401, 'MISSING_KEY'],
  ['POST /api/proxy/http/{path}', { 'x-mcp-key': 'mcp_nobody' }, '{}', 403, 'INVALID_KEY'],
  ['POST /api/mcp-oauth/register', json, '{}', 400, 'invalid_redirect_uri'],
  ['POST /api/mcp-oauth/register', json, '{"redirect_uris":["http://127.0.0.1/back"]}', 201, 'client_id'],
  ['POST /api/mcp-oauth/token', form, 'grant_type=password&client_id=x', 400, 'invalid_client'],
  ['POST /api/mcp-oauth/introspect', form, 'token=svsess_x', 200, '"active":false'],
  ['POST /api/mcp-oauth/introspect', form, '', 400, 'invalid_request'],
  ['POST /api/mcp-oauth/revoke', form, 'token=svsess_x', 200, '{}'],
  ['GET /.well-known/oauth-protected-resource', {}, undefined, 200, 'authorization_servers'],
  ['GET /.well-known/oauth-authorization-server', {}, undefined, 200, 'token_endpoint'],
] as const)('%s with %j and %s is answered as documented', async (name, headers, rawBody, status, holds) => {
  const [method, path] = name.split(' ') as ['GET' | 'POST', string];
  const answer = await service.anyone(method, path, {
    headers,
    ...(rawBody !== undefined && { rawBody }),
  });
  expect({ status: answer.status, text: answer.text }).toEqual({
    status,
    text: expect.stringContaining(holds),
  });
  const documented = operations.find((operation) => operation.name === name)?.responses[status];
  expect(documented).toBeDefined();
  if (status >= 400) expect(documented?.description).toContain(holds);
});
