import { describe, expect, test } from 'vitest';
import { BASE_URL } from '../support/management-service.ts';
import { useService } from '../support/use-service.ts';

const service = useService();

const RESOURCE = '/.well-known/oauth-protected-resource';
const SERVER = '/.well-known/oauth-authorization-server';
const DOCUMENTS = [RESOURCE, `${RESOURCE}/api/agents/mcp`, SERVER];
const FOREIGN = { origin: 'https://inspector.example' };

// spec: GET | /.well-known/oauth-protected-resource | Protected-resource metadata used in the 401 discovery challenge.
// spec: It discovers the authorization server,
test('the resource metadata name the MCP endpoint and this authorization server (RFC 9728)', async () => {
  const plain = await service.anyone('GET', RESOURCE);
  expect(plain.json).toEqual({
    resource: `${BASE_URL}/api/agents/mcp`,
    authorization_servers: [BASE_URL],
    scopes_supported: ['mcp'],
    bearer_methods_supported: ['header'],
    resource_name: 'svault',
  });
  expect((await service.anyone('GET', `${RESOURCE}/api/agents/mcp`)).text).toBe(plain.text);
});

// spec: OAuth registration, authorization, token, revoke and introspect endpoint paths and payloads: not shown. (Those endpoints exist; see Limits.)
test('the server metadata list exactly what is supported (RFC 8414), and every endpoint exists', async () => {
  const { json } = await service.anyone('GET', SERVER);
  for (const [name, address] of Object.entries<string>(json).filter(([key]) => key.endsWith('_endpoint'))) {
    const { status } = await service.anyone('DELETE', address.slice(BASE_URL.length));
    expect([name, status]).toEqual([name, 405]);
  }
  expect(json).toEqual({
    issuer: BASE_URL,
    authorization_endpoint: `${BASE_URL}/api/mcp-oauth/authorize`,
    token_endpoint: `${BASE_URL}/api/mcp-oauth/token`,
    registration_endpoint: `${BASE_URL}/api/mcp-oauth/register`,
    revocation_endpoint: `${BASE_URL}/api/mcp-oauth/revoke`,
    introspection_endpoint: `${BASE_URL}/api/mcp-oauth/introspect`,
    scopes_supported: ['mcp'],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    introspection_endpoint_auth_methods_supported: ['none'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
    protected_resources: [`${BASE_URL}/api/agents/mcp`],
  });
});

describe.each(DOCUMENTS)('%s', (path) => {
  test('the metadata allow every origin and five minutes of caching', async () => {
    const { status, headers } = await service.anyone('GET', path, { headers: FOREIGN });
    expect(status).toBe(200);
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(headers.get('access-control-allow-credentials')).toBeNull();
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(headers.get('cache-control')).toBe('public, max-age=300');
    const preflight = await service.anyone('OPTIONS', path, {
      headers: {
        ...FOREIGN,
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'mcp-protocol-version',
      },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
    expect(preflight.headers.get('access-control-allow-methods')).toBe('GET');
    expect(preflight.headers.get('access-control-allow-headers')).toContain('*');
  });

  test('the metadata answer GET and HEAD only', async () => {
    expect((await service.anyone('HEAD', path)).status).toBe(200);
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const answer = await service.anyone(method, path);
      expect([method, answer.status, answer.headers.get('allow')]).toEqual([
        method,
        405,
        'GET, HEAD, OPTIONS',
      ]);
    }
  });

  test('the metadata do not depend on headers of the request', async () => {
    const headers = { 'x-forwarded-host': 'evil.example', forwarded: 'host=evil.example' };
    const { text } = await service.anyone('GET', `${path}?evil.example`, { headers });
    expect(text).not.toContain('evil');
  });
});

test('there are no metadata of an OpenID provider or of another resource', async () => {
  for (const path of [
    '/.well-known/openid-configuration',
    `${RESOURCE}/`,
    `${RESOURCE}/api/agents`,
    `${SERVER}/api/agents/mcp`,
  ])
    expect([path, (await service.anyone('GET', path)).status]).toEqual([path, 404]);
});
