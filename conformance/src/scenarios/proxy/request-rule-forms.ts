import { isDeepStrictEqual } from 'node:util';
import type { Check } from '../../check/check.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { Tools } from '../../check/tools.ts';
import { allOf, metadataOf } from '../storage/holdings.ts';
import { bodiesByType } from '../store/settings-by-type.ts';
import type { Rule } from './ruled-record.ts';

const CLAIMS = ['store', 'storage', 'request-rules'] as const;
const plain = { tokenType: 'PlainText', value: 'canary-of-a-request-rule' };

const GET = { methods: ['GET'], paths: ['/repos/**'] };
const TOOLS = { tools: ['get_issue'], paths: ['/mcp'] };
const MCP = { mcp: ['resources/*'], paths: ['/mcp'] };
const many = <T>(count: number, each: (at: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, at) => each(at));
const pointers = (count: number, values: readonly unknown[]): Rule =>
  Object.fromEntries(many(count, (at) => [`/p${at}`, values]));
const withPath = (path: string): Rule => ({ ...GET, paths: ['/repos/**', path] });
const withHost = (host: unknown): Rule => ({ ...GET, hosts: ['api.example', host] });
const withArguments = (given: unknown): Rule => ({ ...TOOLS, arguments: given });

/** Rules that are so long as compact JSON. */
function ofBytes(bytes: number): readonly Rule[] {
  const rule = (last: string): Rule => withArguments({ '/a': [...many(16, () => 'ü'.repeat(500)), last] });
  return [rule('x'.repeat(bytes - Buffer.byteLength(JSON.stringify([rule('')]))))];
}

/** Each of them is a list of rules that is stored. */
const TAKEN: Readonly<Record<string, readonly Rule[]>> = {
  'a rule of each kind': [
    {
      methods: ['GET', 'HEAD'],
      hosts: ['api.example', 'http://api.example:8080'],
      paths: ['/repos/*/issues'],
    },
    { tools: ['search_*', 'get_issue'], paths: ['/mcp', '/sse'], arguments: { '/repo': ['acme/site'] } },
    { mcp: ['resources/*'], paths: ['/mcp'] },
    { mcp: ['*'], paths: ['/mcp'], hosts: ['[2606:4700::1111]:8443'] },
  ],
  'paths of each form': [
    {
      ...GET,
      paths: ['/', '/**', '/*', '/a', '/a/', '/a/*/c/', '/a/*/**', '/a%20b/%C3%BC', "/~a.b-c_d/!$&'()+,=:@"],
    },
  ],
  'values of each form': [
    withArguments({
      '/a': ['', 'ü', 'x'.repeat(1000), 0, -1, 2 ** 53 - 1, true, false, null],
      '/b/0/c~0~1': ['*'],
    }),
  ],
  'as many rules, paths, hosts and methods as there may be': [
    ...many(49, () => GET),
    {
      methods: many(20, (at) => 'A'.repeat(at + 1)),
      paths: many(50, (at) => `/p${at}`),
      hosts: many(50, (at) => `h${at}.example`),
    },
  ],
  'as many names, pointers and values as there may be': [
    {
      ...{ ...TOOLS, tools: many(50, (at) => `t${at}`.padEnd(200, '~')) },
      arguments: { ...pointers(19, ['a']), '/values': many(100, (at) => at) },
    },
    { ...MCP, mcp: many(50, (at) => `m${at}/*`) },
  ],
  'as many entries as there may be, the rules among them': many(10, () => ({
    ...{ methods: ['GET'], paths: many(48, (at) => `/p${at}`) },
  })),
  'as many bytes as there may be': ofBytes(16 * 1024),
};

/** Each of them is `requests` of no form. */
const REFUSED: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'the list': {
    'no rule': [],
    'a rule outside a list': GET,
    'a text': 'GET /repos/**',
    'a text in a list': ['GET /repos/**'],
    'null in a list': [GET, null],
    'a list in a list': [[GET]],
    '51 rules': many(51, () => GET),
  },
  members: {
    'an empty rule': [{}],
    'paths alone': [{ paths: ['/repos/**'] }],
    'no paths, for HTTP': [{ methods: ['GET'] }],
    'no paths, for tools': [{ tools: ['get_issue'] }],
    'no paths, for MCP': [{ mcp: ['*'], hosts: ['api.example'] }],
    'methods and tools': [{ ...GET, tools: ['get_issue'] }],
    'tools and mcp': [{ ...TOOLS, mcp: ['resources/*'] }],
    'methods and mcp': [{ ...GET, mcp: ['*'] }],
    'a member that nobody knows': [{ ...GET, comment: 'mine' }],
    'a restriction in another case': [{ ...TOOLS, Arguments: { '/repo': ['acme/site'] } }],
    'a misspelt restriction': [{ ...GET, host: ['api.example'] }],
    'arguments in a rule for HTTP': [{ ...GET, arguments: { '/repo': ['acme/site'] } }],
    'arguments in a rule for MCP': [{ ...MCP, arguments: { '/repo': ['acme/site'] } }],
    'a wrong rule behind a right one': [GET, { ...GET, paths: [] }],
  },
  paths: {
    'no path': [{ ...GET, paths: [] }],
    'a text': [{ ...GET, paths: '/repos/**' }],
    'a number': [{ ...GET, paths: [1] }],
    '51 paths': [{ ...GET, paths: many(51, (at) => `/p${at}`) }],
    ...Object.fromEntries(
      [
        ...['', 'repos', '*', '**', 'https://api.example/repos', '/repos?page=1', '/repos#top'],
        ...['/a*', '/*a', '/a/b*c', '/***', '/**/a', '/a/**/b', '/a/**/', '/a/b**'],
        ...['/a;b', '/a b', '/a|b', '/a[0]', '/a{b}', '/a\\b', '/ü', '/a"b', '/a^b', '/a%', '/a%2', '/a%zz'],
        ...[
          '//a',
          '/a//b',
          '/a//',
          '/./a',
          '/a/..',
          '/a/../b',
          '/a/%2e%2E/b',
          '/a/.../b',
          '/a/.%20',
          '/a/..%20/b',
        ],
        ...['/a%2Fb', '/a%2fb', '/a%5Cb', '/a%3Bb', '/a%00', '/a%0A', '/a%1f', '/a%7F', '/a%C2%85'],
        ...[
          '/a%252Fb',
          '/%2541',
          '/a%FF',
          '/a%C0%AF',
          '/a%EF%BC%8Fb',
          '/%EF%BC%8E%EF%BC%8E/a',
          '/a%EF%BC%9Bb',
        ],
        ...['/a%EF%BC%BCb', '/a%EF%BC%85b', '/a%EF%BC%9Fb', '/a%EF%BC%83b', '/a/%E2%80%A5/b'],
      ].map((path) => [JSON.stringify(path), [withPath(path)]]),
    ),
  },
  hosts: {
    'no host': [{ ...GET, hosts: [] }],
    'a text': [{ ...GET, hosts: 'api.example' }],
    '51 hosts': [{ ...GET, hosts: many(51, (at) => `h${at}.example`) }],
    ...Object.fromEntries(
      [
        '*',
        '',
        '*.example',
        'API.example',
        'api.example.',
        'https://api.example',
        'api.example/v1',
        'api.example:0x50',
      ].map((host) => [JSON.stringify(host), [withHost(host)]]),
    ),
  },
  'methods and names': {
    'no method': [{ ...GET, methods: [] }],
    'a text as methods': [{ ...GET, methods: 'GET' }],
    '21 methods': [{ ...GET, methods: many(21, () => 'GET') }],
    ...Object.fromEntries(
      ['CONNECT', 'TRACE', 'get', 'Get', '*', '', 'M-SEARCH', 'GET ', 'A'.repeat(21)].map((method) => [
        `the method ${JSON.stringify(method)}`,
        [{ ...GET, methods: ['GET', method] }],
      ]),
    ),
    'no tool': [{ ...TOOLS, tools: [] }],
    'a text as tools': [{ ...TOOLS, tools: 'get_issue' }],
    '51 tools': [{ ...TOOLS, tools: many(51, (at) => `t${at}`) }],
    'no method of MCP': [{ ...MCP, mcp: [] }],
    '51 methods of MCP': [{ ...MCP, mcp: many(51, (at) => `m${at}`) }],
    ...Object.fromEntries(
      ['', 'get issue', 'get\tissue', 'problème', 'x'.repeat(201), 7].flatMap(
        (name): ReadonlyArray<readonly [string, unknown]> => [
          [`the tool ${JSON.stringify(name)}`, [{ ...TOOLS, tools: ['get_issue', name] }]],
          [`the method of MCP ${JSON.stringify(name)}`, [{ ...MCP, mcp: [name] }]],
        ],
      ),
    ),
  },
  'all of them': {
    'more than 500 entries': many(10, () => ({ ...GET, paths: many(50, (at) => `/p${at}`) })),
    'more than 500 values': [
      {
        ...TOOLS,
        arguments: pointers(
          6,
          many(100, (at) => at),
        ),
      },
    ],
    'more than 16 KiB': ofBytes(16 * 1024 + 1),
  },
  arguments: {
    'no pointer': [withArguments({})],
    'a list': [withArguments(['/repo'])],
    '21 pointers': [withArguments(pointers(21, ['a']))],
    'no value': [withArguments({ '/repo': [] })],
    'a value outside a list': [withArguments({ '/repo': 'acme/site' })],
    '101 values': [
      withArguments(
        pointers(
          1,
          many(101, (at) => at),
        ),
      ),
    ],
    'a text of 1,001 characters': [withArguments({ '/repo': ['x'.repeat(1001)] })],
    'an object behind a right value': [withArguments({ '/repo': ['acme/site', {}] })],
    'a wrong pointer behind a right one': [withArguments({ '/repo': ['acme/site'], owner: ['acme'] })],
    'no value behind a right pointer': [withArguments({ '/repo': ['acme/site'], '/owner': [] })],
    'a fraction': [withArguments({ '/repo': [1.5] })],
    'an object': [withArguments({ '/repo': [{ name: 'site' }] })],
    'a list as a value': [withArguments({ '/repo': [['acme']] })],
    ...Object.fromEntries(
      ['', 'repo', '#/repo', '/repo~', '/repo~2', '$.repo'].map((pointer) => [
        `the pointer ${JSON.stringify(pointer)}`,
        [withArguments({ [pointer]: ['acme/site'] })],
      ]),
    ),
  },
};

/** Expects that each of these is refused beside a secret, and that nothing is stored. */
async function expectRefused(
  tools: Tools,
  variants: Readonly<Record<string, unknown>>,
  body: object = plain,
): Promise<void> {
  const serviceName = tools.freshName();
  for (const [what, requests] of Object.entries(variants))
    expectRefusal(await tools.store(serviceName, { ...body, requests }), 'INVALID_REQUEST', what);
  expectRefusal(await tools.storage({ op: 'tokens.get', serviceName }), 'NOT_FOUND');
}

const refuses = (id: string, title: string, variants: keyof typeof REFUSED): Check => ({
  id: `request-rules.${id}`,
  title,
  requirements: ['RUL-02'],
  claims: CLAIMS,
  run: (tools) => expectRefused(tools, REFUSED[variants] ?? {}),
});

/** Protocol section 5.7: which request rules are stored, and that they are listed as they are. */
export const REQUEST_RULE_FORM_CHECKS: readonly Check[] = [
  {
    id: 'request-rules.listed',
    title: 'request rules are stored with a record, and listed with it as they were stored',
    requirements: ['RUL-01'],
    claims: CLAIMS,
    run: async (tools) => {
      const wanted = new Map<unknown, readonly Rule[]>();
      for (const [what, requests] of Object.entries(TAKEN)) {
        const name = tools.freshName();
        expectOk(await tools.store(name, { ...plain, requests }));
        const { answer, token } = await metadataOf(tools, name);
        expectThat(isDeepStrictEqual(token['requests'], requests), answer, `requests as stored: ${what}`);
        wanted.set(name, requests);
      }
      const { answer, items } = await allOf(tools, { op: 'tokens.list' });
      const listed = items.filter(({ serviceName }) => wanted.has(serviceName));
      const holds = listed.every(({ serviceName, requests }) =>
        isDeepStrictEqual(requests, wanted.get(serviceName)),
      );
      expectThat(holds && listed.length === wanted.size, answer, 'requests as stored, in the list too');
    },
  },
  {
    id: 'request-rules.of-each-type',
    title: 'request rules are kept, or refused where they are of no form, whatever the type',
    requirements: ['RUL-01', 'RUL-02'],
    claims: CLAIMS,
    run: async (tools) => {
      const requests = [GET, withArguments({ '/repo': ['acme/site'] })];
      for (const [type, body] of Object.entries(await bodiesByType(tools))) {
        const name = tools.freshName();
        expectOk(await tools.store(name, { ...body, requests }));
        const { answer, token } = await metadataOf(tools, name);
        expectThat(isDeepStrictEqual(token['requests'], requests), answer, `requests of a ${type} as stored`);
        await expectRefused(
          tools,
          { [`a rule without paths beside a ${type}`]: [{ methods: ['GET'] }] },
          body,
        );
      }
    },
  },
  {
    id: 'request-rules.absent',
    title:
      'a record that is stored without request rules, or with null, has none, also where it replaces one',
    requirements: ['RUL-15', 'SAV-03', 'TRN-10'],
    claims: CLAIMS,
    run: async (tools) => {
      const name = tools.freshName();
      for (const without of [{}, { requests: null }]) {
        expectOk(await tools.store(name, { ...plain, requests: [GET] }));
        expectOk(await tools.store(name, { ...plain, ...without }));
        const { answer, token } = await metadataOf(tools, name);
        expectThat((token['requests'] ?? undefined) === undefined, answer, 'no requests');
      }
      const nulls = { hosts: null, arguments: null };
      expectOk(await tools.store(name, { ...plain, requests: [{ ...TOOLS, ...nulls }] }));
      const { answer, token } = await metadataOf(tools, name);
      expectThat(isDeepStrictEqual(token['requests'], [TOOLS]), answer, 'a rule without what is null');
    },
  },
  refuses(
    'bad-list',
    'requests that are no list of 1 to 50 rules are refused, and nothing is stored',
    'the list',
  ),
  refuses(
    'bad-members',
    'a rule without paths, of two kinds or of none, or with a member that nobody knows is refused',
    'members',
  ),
  refuses(
    'bad-paths',
    'a path that two programs could read differently, or with a * inside a segment, is refused',
    'paths',
  ),
  refuses('bad-hosts', 'a host of a rule that is no entry of allowedHosts, or *, is refused', 'hosts'),
  refuses(
    'bad-names',
    'methods that are none, and names that are not 1 to 200 visible ASCII characters, are refused',
    'methods and names',
  ),
  refuses(
    'too-long',
    'rules with more than 500 entries, or above 16 KiB together, are refused',
    'all of them',
  ),
  refuses('bad-arguments', 'pointers that are none, and values with two spellings, are refused', 'arguments'),
];
