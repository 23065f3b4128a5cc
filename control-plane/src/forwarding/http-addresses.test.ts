import { describe, expect, it } from 'vitest';
import { outsideProblem, withProxyAddresses } from './http-addresses.ts';

const ADDRESSES = {
  upstreamUrl: 'https://api.example.com/v3/',
  target: '/repos/acme/site/issues?page=1',
  proxyUrl: 'https://vault.example/api/proxy/http',
};
const rewritten = (name: string, value: string): string | undefined =>
  withProxyAddresses([[name, value]], ADDRESSES)[0]?.[1];

it.each([
  ['https://api.example.com/v3/user', '/user'],
  ['https://API.example.com:443/v3/a%2Fb?x=%2B+%27#part', '/a%2Fb?x=%2B+%27#part'],
  ['https://api.example.com/v3', ''],
  ['https://api.example.com/v3?page=2', '?page=2'],
  ['/v3/user', '/user'],
  ['?page=2', '/repos/acme/site/issues?page=2'],
  ['7', '/repos/acme/site/7'],
  ['//api.example.com/v3/user', '/user'],
])('%s below the base URL becomes %s at the proxy', (address, rest) => {
  for (const name of ['location', 'content-location'])
    expect(rewritten(name, address)).toBe(ADDRESSES.proxyUrl + rest);
  expect(outsideProblem([address], ADDRESSES)).toBeUndefined();
});

it.each([
  'https://elsewhere.example/v3/user',
  'http://api.example.com/v3/user',
  'https://api.example.com:8443/v3/user',
  'https://user@api.example.com/v3/user',
  'https://api.example.com/v30/user',
  'https://api.example.com/v3/../admin',
  'https://api.example.com/v3/%2e%2e/admin',
  'https://api.example.com/',
  '/user',
  '../../../..',
  '\\\\elsewhere.example\\v3',
  'javascript:alert(1)',
  'https://',
])('%s is dropped, and denied as a redirect', (address) => {
  for (const name of ['location', 'content-location']) expect(rewritten(name, address)).toBeUndefined();
  expect(outsideProblem([address], ADDRESSES)).toBeTypeOf('string');
});

it('an address is below a base without a path, with any path', () => {
  const addresses = { ...ADDRESSES, upstreamUrl: 'https://api.example.com', target: '' };
  for (const path of ['', '/', '/a//b'])
    expect(withProxyAddresses([['location', `https://api.example.com${path}`]], addresses)).toEqual([
      ['location', `${ADDRESSES.proxyUrl}${path === '' ? '/' : path}`],
    ]);
});

describe('link', () => {
  it('keeps the links below the base URL with their parameters, as GitHub pages by', () => {
    const base = 'https://api.example.com/v3/repositories/1/issues';
    const other = '<https://elsewhere.example/x>; rel="help"';
    const value = `<${base}?page=2>; rel="next", ${other}, <${base}?page=9>; rel="last"; title="a, <b>; \\"c\\""`;
    const at = `${ADDRESSES.proxyUrl}/repositories/1/issues`;
    expect(rewritten('link', value)).toBe(
      `<${at}?page=2>; rel="next", <${at}?page=9>; rel="last"; title="a, <b>; \\"c\\""`,
    );
  });

  it.each([
    '<https://elsewhere.example/x>; rel=preload',
    '</v3/x>; rel=next; anchor="https://elsewhere.example"',
    '</v3/x; rel=next',
    '</v3/x>; rel="next',
    'https://api.example.com/v3/x',
    '</v3/x> </v3/y>',
    ' ',
    '',
  ])('is dropped if it is %j', (value) => {
    expect(rewritten('link', value)).toBeUndefined();
  });

  it('is parsed in linear time', () => {
    const value = `<${'/v3/x'.repeat(1_000)}>${'; a="\\\\'.repeat(20_000)}`;
    const start = performance.now();
    expect(rewritten('link', value)).toBeUndefined();
    expect(performance.now() - start).toBeLessThan(500);
  });
});

it('the denial of a redirect to another origin names only that origin, and the setting that allows it', () => {
  const away = ['https://u:p@elsewhere.example:8443/taken?secret=x'];
  const text = outsideProblem(away, ADDRESSES) ?? '';
  expect(text).toContain('https://elsewhere.example:8443,');
  expect(text).toContain('--follow-redirects');
  expect(text).not.toMatch(/taken|secret|u:p/);
  const following = { ...ADDRESSES, redirects: 'follow-without-credential' };
  expect(outsideProblem(away, following)).toContain('GET and HEAD alone');
});

it('a redirect with two addresses is malformed', () => {
  expect(outsideProblem(['/v3/a', '/v3/a'], ADDRESSES)).toContain('malformed');
});
