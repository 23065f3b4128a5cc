import { describe, expect, test } from 'vitest';
import { addressGroup } from '../../src/core/address.ts';
import { useService } from '../support/use-service.ts';

const PATH = '/api/mcp-oauth/register';
const REDIRECT = 'http://127.0.0.1:3000/callback';

const service = useService({ SV_LIMIT_OAUTH_REGISTER: '1000' });

const register = (body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  service.anyone('POST', PATH, { body, headers });

describe('client registration (RFC 7591)', () => {
  // spec: registers itself,
  test('a registered client gets its metadata and no secret', async () => {
    const answer = await register({
      client_name: 'Claude Code',
      client_uri: 'https://claude.example/code',
      redirect_uris: [REDIRECT, 'https://app.example/cb', 'cursor://host/cb', REDIRECT],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      scope: 'mcp',
    });
    expect(answer.status).toBe(201);
    expect(answer.json).toEqual({
      client_id: expect.stringMatching(/^ocl_[A-Za-z0-9_-]{22}$/),
      client_id_issued_at: service.clock.now() / 1_000,
      client_name: 'Claude Code',
      client_uri: 'https://claude.example/code',
      redirect_uris: [REDIRECT, 'https://app.example/cb', 'cursor://host/cb'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      scope: 'mcp',
    });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const group = 'SELECT address_group FROM oauth_clients WHERE id = ?';
    expect(await service.place.state.value(group, answer.json.client_id)).toBe(addressGroup('127.0.0.1'));
    const again = await register({ redirect_uris: [REDIRECT] });
    expect(again.json.client_id).not.toBe(answer.json.client_id);
  });

  test('unsupported metadata are replaced by supported values', async () => {
    const { status, json } = await register({
      redirect_uris: [REDIRECT],
      token_endpoint_auth_method: 'client_secret_basic',
      grant_types: ['authorization_code', 'client_credentials', 'password'],
      response_types: ['code', 'token'],
      scope: 'admin everything',
      software_id: 'x',
      jwks_uri: 'https://evil.example/jwks',
      contacts: null,
      nobody_knows: { a: [1] },
      default_max_age: 36.5,
    });
    expect(status).toBe(201);
    expect(json).toMatchObject({
      client_name: 'an unnamed client',
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      scope: 'mcp',
    });
    expect(Object.keys(json)).not.toContain('client_secret');
    expect(Object.keys(json)).not.toContain('jwks_uri');
  });

  test.each([
    ['line\r\nbreaks \u0000 and\u200B \u202Eturns', 'line breaks and turns'],
    ['   ', 'an unnamed client'],
    ['名前 Ünïcode 😀', '名前 Ünïcode 😀'],
    ['😀'.repeat(200), `${'😀'.repeat(99)}…`],
  ])('the client name %j is stored as %j', async (given, kept) => {
    const { json } = await register({ redirect_uris: [REDIRECT], client_name: given });
    expect(json.client_name).toBe(kept);
  });

  test.each(['javascript:alert(1)', `https://x/${'a'.repeat(600)}`])(
    'the client_uri %j is dropped',
    async (page) => {
      const { status, json } = await register({ redirect_uris: [REDIRECT], client_uri: page });
      expect([status, json.client_uri]).toEqual([201, undefined]);
    },
  );

  test.each([
    ['no redirect URI', {}, 'invalid_redirect_uri'],
    ['a text', { redirect_uris: REDIRECT }, 'invalid_redirect_uri'],
    ['a script', { redirect_uris: [REDIRECT, 'javascript:alert(1)'] }, 'invalid_redirect_uri'],
    [
      'too many',
      { redirect_uris: Array.from({ length: 21 }, (_, n) => `${REDIRECT}${n}`) },
      'invalid_redirect_uri',
    ],
    [
      'too many characters together',
      { redirect_uris: Array.from({ length: 5 }, (_, n) => `${REDIRECT}${n}${'x'.repeat(900)}`) },
      'invalid_redirect_uri',
    ],
    ['a name that is none', { redirect_uris: [REDIRECT], client_name: 1 }, 'invalid_client_metadata'],
    ['another flow', { redirect_uris: [REDIRECT], grant_types: ['implicit'] }, 'invalid_client_metadata'],
    ['another response', { redirect_uris: [REDIRECT], response_types: ['token'] }, 'invalid_client_metadata'],
  ])('metadata with %s are rejected', async (_what, metadata, error) => {
    const answer = await register(metadata);
    expect([answer.status, answer.json]).toEqual([400, { error, error_description: expect.any(String) }]);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
  });

  test.each([
    ['no body', undefined, 'application/json'],
    ['a form', 'redirect_uris=x', 'application/x-www-form-urlencoded'],
    [
      'a member twice',
      `{"client_name":"a","client_name":"b","redirect_uris":["${REDIRECT}"]}`,
      'application/json',
    ],
    ['a prototype', `{"__proto__":{},"redirect_uris":["${REDIRECT}"]}`, 'application/json'],
    ['deep', `{"x":${'['.repeat(1_000)}${']'.repeat(1_000)}}`, 'application/json'],
    ['half a character', `{"client_name":"\\ud800","redirect_uris":["${REDIRECT}"]}`, 'application/json'],
  ])('a request with %s is rejected', async (_what, rawBody, type) => {
    const answer = await service.anyone('POST', PATH, {
      ...(rawBody !== undefined && { rawBody }),
      headers: { 'content-type': type },
    });
    expect([answer.status, answer.json.error]).toEqual([400, 'invalid_client_metadata']);
  });

  test('metadata of more than 16 KiB are rejected', async () => {
    const fill = (length: number) => ({ redirect_uris: [REDIRECT], filler: 'x'.repeat(length) });
    expect((await register(fill(16_000))).status).toBe(201);
    const answer = await register(fill(16_384));
    expect([answer.status, answer.json.code]).toEqual([413, 'TOO_LARGE']);
  });

  test('registration allows pages of any origin', async () => {
    const headers = { origin: 'https://inspector.example' };
    const answer = await register({ redirect_uris: [REDIRECT] }, headers);
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([201, '*']);
    const preflight = await service.anyone('OPTIONS', PATH, {
      headers: { ...headers, 'access-control-request-method': 'POST' },
    });
    expect([preflight.status, preflight.headers.get('access-control-allow-methods')]).toEqual([204, 'POST']);
    expect((await service.anyone('GET', PATH)).headers.get('allow')).toBe('POST, OPTIONS');
  });
});
