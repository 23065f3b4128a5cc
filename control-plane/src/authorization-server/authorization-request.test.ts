import { describe, expect, it } from 'vitest';
import { addresseeOf, parametersOf, requestError } from './authorization-request.ts';

const AUDIENCE = 'https://svault.example/api/agents/mcp';
const SOUND = {
  response_type: 'code',
  client_id: 'ocl_x',
  redirect_uri: 'https://app.example/cb',
  code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  code_challenge_method: 'S256',
};
const reading = (query: string) => parametersOf(new URLSearchParams(query));
const withOthers = (others: Record<string, string>, ...more: (readonly [string, string])[]) =>
  parametersOf([...Object.entries({ ...SOUND, ...others }), ...more]);

describe('who is answered', () => {
  it('is said by client_id and redirect_uri, with the state as it is', () => {
    for (const state of ['s', 'a b+c&d=e%25', '"<>\'', 'ü€😀', 'x'.repeat(4_096)])
      expect(addresseeOf(withOthers({ state }))).toEqual({
        clientId: 'ocl_x',
        redirectUri: 'https://app.example/cb',
        state,
      });
    expect(addresseeOf(withOthers({ state: '' }))).toMatchObject({ state: undefined });
  });

  it.each([
    ['', 'no_client_id'],
    ['client_id=', 'no_client_id'],
    ['redirect_uri=x', 'no_client_id'],
    ['client_id=a', 'no_redirect_uri'],
    ['client_id=a&redirect_uri=', 'no_redirect_uri'],
    ['client_id=a&client_id=a&redirect_uri=b', 'repeated'],
    ['client_id=a&redirect_uri=b&redirect_uri=c', 'repeated'],
    ['client_id=a&redirect_uri=b&state=1&state=2', 'repeated'],
    ['client_id=a&redirect_uri=b&scope=1&scope=2', 'repeated'],
    ['client_id=a&redirect_uri=b&nobody_knows=1&nobody_knows=2', 'repeated'],
    ['client_id=a&redirect_uri=b&state=%FF', 'malformed_state'],
    ['client_id=a&redirect_uri=b&state=%00', 'malformed_state'],
    ['client_id=a&redirect_uri=b&state=%0D%0A', 'malformed_state'],
    [`client_id=a&redirect_uri=b&state=${'x'.repeat(4_097)}`, 'malformed_state'],
  ])('is nobody in %j', (query, reason) => {
    expect(addresseeOf(reading(query))).toBe(reason);
  });

  it('is somebody in a request that names several resources, which they are then told', () => {
    const parameters = withOthers({ resource: AUDIENCE }, ['resource', AUDIENCE]);
    expect(addresseeOf(parameters)).toMatchObject({ clientId: 'ocl_x' });
    expect(requestError(parameters, AUDIENCE)?.error).toBe('invalid_target');
  });
});

describe('a request', () => {
  it.each([
    {},
    { scope: 'anything else' },
    { response_mode: 'query' },
    { resource: AUDIENCE },
    { resource: `${AUDIENCE}/` },
    { resource: 'HTTPS://SVAULT.example:443/api/agents/mcp' },
    { prompt: 'consent', nonce: 'x', login_hint: 'y' },
  ])('with %j can be asked about', (others) => {
    expect(requestError(withOthers(others), AUDIENCE)).toBeUndefined();
  });

  it.each([
    [{ response_type: '' }, 'invalid_request'],
    [{ response_type: 'token' }, 'unsupported_response_type'],
    [{ response_type: 'code id_token' }, 'unsupported_response_type'],
    [{ response_type: 'CODE' }, 'unsupported_response_type'],
    [{ response_mode: 'fragment' }, 'invalid_request'],
    [{ response_mode: 'form_post' }, 'invalid_request'],
    [{ code_challenge: '' }, 'invalid_request'],
    [{ code_challenge: 'x'.repeat(42) }, 'invalid_request'],
    [{ code_challenge: 'x'.repeat(44) }, 'invalid_request'],
    [{ code_challenge: `${'x'.repeat(42)}=` }, 'invalid_request'],
    [{ code_challenge: `${'x'.repeat(43)}\n` }, 'invalid_request'],
    [{ code_challenge_method: '' }, 'invalid_request'],
    [{ code_challenge_method: 'plain' }, 'invalid_request'],
    [{ code_challenge_method: 's256' }, 'invalid_request'],
    [{ code_challenge_method: 'S512' }, 'invalid_request'],
    [{ resource: 'https://svault.example' }, 'invalid_target'],
    [{ resource: `${AUDIENCE}/x` }, 'invalid_target'],
    [{ resource: `${AUDIENCE}?x` }, 'invalid_target'],
    [{ resource: `${AUDIENCE}#x` }, 'invalid_target'],
    [{ resource: `${AUDIENCE}x` }, 'invalid_target'],
    [{ resource: 'https://user@svault.example/api/agents/mcp' }, 'invalid_target'],
    [{ resource: 'https://svault.example.evil.example/api/agents/mcp' }, 'invalid_target'],
    [{ resource: 'http://svault.example/api/agents/mcp' }, 'invalid_target'],
    [{ resource: 'https://svault.example/API/agents/mcp' }, 'invalid_target'],
    [{ resource: 'no address' }, 'invalid_target'],
    [{ request: 'ey.ey.' }, 'request_not_supported'],
    [{ request_uri: 'https://evil.example/r' }, 'request_uri_not_supported'],
  ])('with %j is refused: %s', (others, error) => {
    expect(requestError(withOthers(others), AUDIENCE)).toEqual({
      error,
      error_description: expect.stringMatching(/^[\x20\x21\x23-\x5B\x5D-\x7E]+$/),
    });
  });
});
