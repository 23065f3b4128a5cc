import { describe, expect, it } from 'vitest';
import { destinationProblem } from './destination-problem.ts';

const problem = (
  upstreamUrl: string,
  allowedHosts: readonly string[],
  headerTemplates: Record<string, string> = {},
  allowedHeaders: readonly string[] = ['authorization'],
) => destinationProblem({ upstreamUrl, headerTemplates }, { allowedHosts, allowedHeaders });

describe('the host of an upstream', () => {
  it.each([
    ['https://api.test', ['api.test']],
    ['https://api.test:443/a?b', ['api.test']],
    ['https://api.test/a', ['api.test:443']],
    ['https://API.test/a', ['api.test']],
    ['http://api.test/a', ['http://api.test']],
    ['http://api.test/a', ['http://api.test:80']],
    ['http://api.test:80/a', ['http://api.test']],
    ['http://api.test:443/a', ['http://api.test:443']],
    ['http://127.0.0.1:3901/a', ['api.test', 'http://127.0.0.1:3901']],
    ['http://[2001:DB8:0::1]:8080/a', ['http://[2001:db8::1]:8080']],
    ['https://api.test:8443/a', ['other.test', 'api.test:8443']],
    ['https://[2001:db8::1]/a', ['[2001:db8::1]']],
    ['https://[2001:DB8:0::1]:8443/a', ['[2001:db8::1]:8443']],
    ['https://bücher.test/a', ['xn--bcher-kva.test']],
    ['https://0x7f000001/a', ['127.0.0.1']],
    ['https://anything.test:1/a', ['*']],
  ])('%s is allowed by %j', (url, allowed) => {
    expect(problem(url, allowed)).toBeUndefined();
  });

  it.each([
    ['https://api.test/a', []],
    ['https://api.test:8443/a', ['api.test']],
    ['https://api.test/a', ['api.test:8443']],
    ['http://api.test:443/a', ['api.test']],
    ['http://api.test/a', ['api.test']],
    ['http://api.test/a', ['api.test:80']],
    ['http://api.test:443/a', ['api.test:443']],
    ['http://api.test:8443/a', ['api.test:8443']],
    ['http://api.test:8443/a', ['http://api.test']],
    ['http://anything.test/a', ['*']],
    ['https://api.test/a', ['http://api.test']],
    ['https://api.test/a', ['http://api.test:443']],
    ['https://api.test:8443/a', ['http://api.test:8443']],
    ['http://api.test/a', ['HTTP://api.test', 'http:/api.test', 'http://api.test/', '//api.test']],
    ['https://api.test/a', ['https://api.test']],
    ['https://api.test:80/a', ['api.test']],
    ['https://api.test./a', ['api.test']],
    ['https://sub.api.test/a', ['api.test']],
    ['https://api.test.evil.test/a', ['api.test']],
    ['https://evil-api.test/a', ['api.test']],
    ['https://evil.test/api.test', ['api.test']],
    ['https://evil.test/?@api.test', ['api.test']],
    ['https://[2001:db8::2]/a', ['[2001:db8::1]']],
    ['https://anything.test/a', ['*.test', '.test']],
    ['https://api.test/a', ['API.test']],
  ])('%s is not allowed by %j', (url, allowed) => {
    expect(problem(url, allowed)).toEqual({ cause: 'host' });
  });

  it.each([
    'https://user@api.test/',
    'https://user:pass@api.test/',
    'https://@api.test/',
    'https://api.test#x',
    'https://api.test\\@evil.test/',
    'ftp://api.test/',
    'file:///api.test',
    'api.test',
    '',
    'https://',
    'https://api.test/ a',
  ])('is rejected in %j', (url) => {
    expect(problem(url, ['*'])).toEqual({ cause: 'url' });
  });
});

describe('the header of a marker', () => {
  const at = (templates: Record<string, string>, allowed?: readonly string[]) =>
    problem('https://api.test', ['api.test'], templates, allowed);

  it('may be a sealed one, in any case', () => {
    expect(at({ Authorization: 'Bearer ${TOKEN}', 'x-plain': 'x' })).toBeUndefined();
    expect(at({ 'x-key': '$<TOKEN>' }, ['X-Key'])).toBeUndefined();
  });

  it.each([
    { 'x-other': '${TOKEN}' },
    { 'x-other': 'a $<TOKEN>' },
    { authorization: 'Bearer ${TOKEN}', cookie: 's=${TOKEN}' },
  ])('is rejected, by its name, if it is not sealed: %j', (templates) => {
    const header = Object.keys(templates).at(-1);
    expect(at(templates as unknown as Record<string, string>)).toEqual({ cause: 'header', header });
  });

  it('is always rejected if none is sealed', () => {
    expect(at({ authorization: '${TOKEN}' }, [])).toEqual({ cause: 'header', header: 'authorization' });
  });

  it.each([
    'host',
    'Host',
    'content-length',
    'Transfer-Encoding',
    'connection',
    'keep-alive',
    'te',
    'trailer',
    'upgrade',
    'expect',
    'via',
    'forwarded',
    'x-forwarded-for',
    'proxy-authorization',
    'sv-ticket',
    'a b',
    'a:b',
    'a\r\nb',
    '',
  ])('never is a header of the connection or the framing: %j', (name) => {
    expect(at({ [name]: 'x' }, [name])).toEqual({ cause: 'template' });
    expect(at({ [name]: '${TOKEN}' }, [name])).toEqual({ cause: 'template' });
  });
});

describe('a proxy of an HTTP API', () => {
  const settings = { allowedHosts: ['api.test'], allowedHeaders: ['authorization'] };
  const config = { upstreamUrl: 'https://api.test/v1', headerTemplates: {}, kind: 'http' as const };

  it('may put the credential into the parameters that are sealed with it, compared with letter case', () => {
    const of = (queryTemplates: Record<string, string>, allowedQuery?: readonly string[]) =>
      destinationProblem({ ...config, queryTemplates }, { ...settings, allowedQuery });
    expect(of({ key: '${TOKEN}', v: '1' }, ['key'])).toBeUndefined();
    expect(of({ v: '1' })).toBeUndefined();
    for (const [name, allowed] of [
      ['key', undefined],
      ['key', []],
      ['Key', ['key']],
    ] as const)
      expect(of({ [name]: 'a ${BASIC:b}' }, allowed)).toEqual({ cause: 'parameter', parameter: name });
  });

  it.each([
    [{ upstreamUrl: 'https://api.test/v1?a=b' }, 'url'],
    [{ queryTemplates: {} }, 'template'],
    [{ queryTemplates: { 'a&b': '1' } }, 'template'],
    [{ queryTemplates: { a: 'ä' } }, 'template'],
    [{ kind: undefined, queryTemplates: { a: '1' } }, 'template'],
  ])('of a row that was changed to %j has the problem %s', (more, cause) => {
    expect(destinationProblem({ ...config, ...more }, settings)).toEqual({ cause });
  });
});
