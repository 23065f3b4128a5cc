import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { utf8 } from '../bytes.ts';
import { compileRequestRules } from './compile.ts';
import type { HttpRequest } from './http-request.ts';
import { ReadOnce } from './read-once.ts';
import type { RequestRule } from './rules-schema.ts';

const origin = new URL('https://api.example');
const JSON_TYPE = ['content-type', 'application/json'] as const;

function request(changes: Partial<HttpRequest> = {}): HttpRequest {
  return { origin, method: 'GET', target: '/mcp', fields: [], body: new Uint8Array(), ...changes };
}

function message(content: object): HttpRequest {
  return request({
    method: 'POST',
    fields: [JSON_TYPE],
    body: utf8(JSON.stringify({ jsonrpc: '2.0', id: 1, ...content })),
  });
}

const callOf = (name: string, given: object = {}): HttpRequest =>
  message({ method: 'tools/call', params: { name, arguments: given } });

const RULES: readonly RequestRule[] = [
  { methods: ['GET', 'POST'], hosts: ['api.example'], paths: ['/repos/*', '/files/**'] },
  { tools: ['get_*'], paths: ['/mcp'], arguments: { '/repo': ['acme/site', 7, null] } },
  { mcp: ['resources/*'], paths: ['/mcp'] },
];

describe('decide', () => {
  it('says which pattern and which tool it was', () => {
    const rules = compileRequestRules(RULES);
    expect(rules.decide(request({ target: '/files/a/b?c' }))).toEqual({ allowed: true, path: '/files/**' });
    expect(rules.decide(callOf('get_issue', { repo: 7 }))).toEqual({
      allowed: true,
      isMcp: true,
      path: '/mcp',
      tool: 'get_issue',
    });
    expect(rules.decide(callOf('delete_repo'))).toMatchObject({
      allowed: false,
      reason: 'rule',
      tool: 'delete_repo',
    });
  });

  it('says that an answer may list tools, for tools/list and the stream of a server', () => {
    const rules = compileRequestRules(RULES);
    expect(rules.decide(message({ method: 'tools/list' }))).toMatchObject({
      allowed: true,
      listsTools: true,
    });
    expect(rules.decide(request())).toMatchObject({ allowed: true, listsTools: true });
    expect(rules.decide(message({ method: 'ping' }))).not.toHaveProperty('listsTools');
    expect(rules.decide(request({ target: '/files/' }))).not.toHaveProperty('listsTools');
  });

  it('denies a header that names a second resource, or another path in whatever spelling', () => {
    const rules = compileRequestRules([{ methods: ['PUT', 'COPY'], paths: ['/mine/**'] }]);
    const decide = (method: string, name: string) =>
      rules.decide(request({ method, target: '/mine/a', fields: [[name, '/theirs/b']] }));
    expect(decide('PUT', 'x-amz-meta-source')).toMatchObject({ allowed: true });
    for (const name of [
      'X-Amz-Copy-Source',
      'x-ms-copy-source',
      'Destination',
      'X.Original.URL',
      'x!rewrite_url',
    ])
      expect([name, decide('COPY', name)]).toEqual([name, { allowed: false, reason: 'path_override' }]);
  });

  it('cuts a tool that it names to 256 characters', () => {
    const verdict = compileRequestRules(RULES).decide(callOf(`get_${'a'.repeat(1000)}`));
    expect(verdict.tool).toHaveLength(256);
  });

  it('does not throw, whatever bytes a request has', () => {
    const rules = compileRequestRules(RULES);
    const text = fc.string({ unit: 'binary', maxLength: 40 });
    const known = fc.constantFrom(
      'content-type',
      'content-encoding',
      'mcp-method',
      'mcp-name',
      'content-length',
    );
    const types = fc.constantFrom(
      ...[
        'application/json',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=a',
        'tools/call',
      ],
    );
    const requests = fc.record({
      origin: fc.constant(origin),
      method: fc.oneof(fc.constantFrom('GET', 'POST', 'DELETE'), text),
      target: fc.oneof(
        fc.constantFrom('/mcp', '/repos/a', '/files/'),
        text,
        text.map((rest) => `/mcp?${rest}`),
      ),
      fields: fc.array(fc.tuple(fc.oneof(known, text), fc.oneof(types, text)), { maxLength: 4 }),
      body: fc.oneof(
        fc.uint8Array({ maxLength: 200 }),
        fc.json().map(utf8),
        fc
          .record({ jsonrpc: fc.constant('2.0'), method: fc.constant('tools/call'), params: fc.jsonValue() })
          .map((content) => utf8(JSON.stringify(content))),
      ),
    });
    fc.assert(
      fc.property(requests, (asked) => {
        expect(typeof rules.decide(asked).allowed).toBe('boolean');
      }),
      { numRuns: 5000 },
    );
  });

  it('says the same of a request that is read once, for each list of rules', () => {
    const lists = [RULES, RULES.slice(2), RULES.slice(0, 1)].map(compileRequestRules);
    const asked = [
      callOf('get_issue', { repo: 7 }),
      callOf('get_issue', { repo: 7, Repo: 7 }),
      request({ target: '/files/../a' }),
      request(),
    ];
    for (const each of asked) {
      const once = new ReadOnce(each);
      expect(lists.map((rules) => rules.decide(once))).toEqual(lists.map((rules) => rules.decide(each)));
    }
  });

  it('does not depend on the order of the rules', () => {
    const asked = [
      callOf('get_issue', { repo: 'acme/site', Repo: 'b' }),
      callOf('get_issue', { repo: 'b' }),
      callOf('get_issue', { repo: 7 }),
      message({ method: 'resources/list' }),
      request({ target: '/repos/a' }),
    ];
    const rules = [...RULES, { tools: ['*_issue'], paths: ['/mcp'] }];
    const verdicts = asked.map((one) => compileRequestRules(rules).decide(one).allowed);
    expect(verdicts).toEqual([false, true, true, true, true]);
    const other = compileRequestRules(rules.toReversed());
    expect(asked.map((one) => other.decide(one).allowed)).toEqual(verdicts);
  });

  it('reads hostile bodies in linear time', () => {
    const rules = compileRequestRules([{ methods: ['POST'], paths: ['/**'] }]);
    const bodies = [
      `name=${' '.repeat(2_000_000)}`,
      'content-disposition'.repeat(100_000),
      'content-disposition: form-data; name="'.repeat(50_000),
      `content-disposition: form-data; name="a"${' '.repeat(2_000_000)}b`,
      '1'.repeat(2_000_000),
      '_'.repeat(2_000_000),
    ];
    for (const type of ['multipart/form-data; boundary=a', 'application/json', 'urlencoded']) {
      for (const body of bodies)
        rules.decide(request({ method: 'POST', fields: [['content-type', type]], body: utf8(body) }));
    }
    rules.decide(
      request({
        method: 'POST',
        fields: [['content-type', `urlencoded;${'charset'.repeat(100_000)}`]],
        body: utf8('a'),
      }),
    );
    const numbers = callOf('get_issue', { repo: 7, digits: '1'.repeat(1_000_000) });
    expect(compileRequestRules(RULES).decide(numbers).allowed).toBe(true);
  });
});

describe('toolsShownAt', () => {
  it('shows the tools that some call at the endpoint may have', () => {
    const shows = compileRequestRules([
      ...RULES,
      { tools: ['delete_*'], hosts: ['other.example'], paths: ['/mcp'] },
    ]).toolsShownAt({ origin, target: '/mcp?session=1' });
    expect(['get_issue', 'get_', 'delete_repo', 'set_issue'].filter(shows)).toEqual(['get_issue', 'get_']);
  });

  it('shows every tool where tools/call is allowed as a method', () => {
    const rules = compileRequestRules([{ mcp: ['tools/*'], paths: ['/mcp'] }]);
    expect(rules.toolsShownAt({ origin, target: '/mcp' })('delete_repo')).toBe(true);
  });

  it('shows none at another path', () => {
    expect(compileRequestRules(RULES).toolsShownAt({ origin, target: '/other' })('get_issue')).toBe(false);
  });

  it('agrees with a regular expression about the names that a pattern matches', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '.', '_'), maxLength: 8 });
    const patterns = fc.array(fc.constantFrom('a', 'b', '.', '_', '*', '*'), { minLength: 1, maxLength: 7 });
    fc.assert(
      fc.property(patterns, letters, (parts, name) => {
        const pattern = parts.join('');
        const source = pattern.replaceAll('.', String.raw`\.`).replaceAll('*', '.*');
        const shows = compileRequestRules([{ tools: [pattern], paths: ['/mcp'] }]).toolsShownAt(request());
        expect(shows(name)).toBe(new RegExp(`^${source}$`).test(name));
      }),
      { numRuns: 10_000 },
    );
  });
});
