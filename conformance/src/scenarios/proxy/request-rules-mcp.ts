import { randomToken } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import { expectThat } from '../../check/expect.ts';
import type { ProxiedCall, Tools } from '../../check/tools.ts';
import { CALL, ONE_READING, TWO_READINGS } from './request-rule-messages.ts';
import {
  expectAllowed,
  expectDenied,
  givenRules,
  json,
  message,
  toolCall,
  type Rule,
  type RuledProxy,
} from './ruled-record.ts';

const CLAIMS = ['proxy', 'store', 'request-rules'] as const;
type Calls = Readonly<Record<string, Partial<ProxiedCall>>>;

/** A proxy to a place that these rules are about, but for their paths. */
async function ruledMcp(tools: Tools, ...rules: readonly Rule[]): Promise<RuledProxy> {
  const record = await givenRules(tools, (base) => rules.map((rule) => ({ ...rule, paths: [base] })));
  return record.proxy();
}

async function expectAll(proxy: RuledProxy, expected: typeof expectAllowed, calls: Calls): Promise<void> {
  for (const [what, call] of Object.entries(calls)) await expected(proxy, () => proxy.call(call), what);
}

const named = (bodies: readonly string[]): Calls =>
  Object.fromEntries(bodies.map((body) => [body, json(body)]));
const calls = (...methods: readonly string[]): Calls =>
  named(methods.map((method) => message(method, { uri: 'file:///a' })));

const RESPONSE = '{"jsonrpc":"2.0","id":1,"result":{}}';
const HANDSHAKE: Calls = {
  ...named([
    message('initialize', {
      ...{ protocolVersion: '2025-11-25', capabilities: {} },
      clientInfo: { name: 'conformance', version: '1' },
    }),
    ...['server/discover', 'ping', 'tools/list'].map((method) => message(method)),
    message('tools/list', { cursor: 'next' }),
    '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
    RESPONSE,
    '{"jsonrpc":"2.0","id":"a","result":{"roots":[]}}',
    '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}',
  ]),
};

const TWO_ARGUMENTS = {
  tools: ['get'],
  arguments: { '/repo': ['acme/site', null], '/in/key': ['a', null] },
};
const RIGHT_ARGUMENTS = { repo: 'acme/site', in: { key: 'a' } };

const withMirrors = (
  body: string,
  ...headers: ReadonlyArray<readonly [string, string]>
): Partial<ProxiedCall> => json(body, 'application/json', headers);
const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`;

/** Protocol section 5.7: messages of MCP. */
export const REQUEST_RULE_MCP_CHECKS: readonly Check[] = [
  {
    id: 'request-rules.handshake',
    title: 'any rule for MCP lets pass the handshake, notifications, tools/list and responses',
    requirements: ['RUL-12'],
    claims: CLAIMS,
    run: async (tools) => {
      for (const rule of [{ tools: ['get_issue'] }, { mcp: ['resources/read'] }])
        await expectAll(await ruledMcp(tools, rule), expectAllowed, HANDSHAKE);
      const record = await givenRules(tools, (base) => [{ tools: ['get_issue'], paths: [`${base}/mcp`] }]);
      const other = await record.proxy('/other');
      await expectDenied(other, () => other.call(json(message('ping'))), 'a ping at a path of no rule');
    },
  },
  {
    id: 'request-rules.mcp-methods',
    title: 'another method of MCP passes by a rule for it alone, and tools/call by one for tools or for it',
    requirements: ['RUL-12', 'RUL-03'],
    claims: CLAIMS,
    run: async (tools) => {
      const forTools = await ruledMcp(tools, { tools: ['*'] });
      const others = calls(
        'resources/list',
        'resources/read',
        'prompts/get',
        'tools/lists',
        'pinging',
        'xping',
        'Initialize',
      );
      await expectAll(forTools, expectDenied, { ...others, ...calls('', 'notification', 'tools/callx') });
      const forMethods = await ruledMcp(tools, { mcp: ['resources/*', 'prompts/get'] });
      await expectAll(
        forMethods,
        expectAllowed,
        calls('resources/list', 'resources/templates/list', 'prompts/get'),
      );
      const call = { 'a call of a tool': json(CALL) };
      await expectAll(forMethods, expectDenied, {
        ...calls('prompts/list', 'resources', 'xresources/list'),
        ...call,
      });
      for (const pattern of ['tools/call', 'tools/*', '*'])
        await expectAll(await ruledMcp(tools, { mcp: [pattern] }), expectAllowed, call);
    },
  },
  {
    id: 'request-rules.without-message',
    title: 'a rule for MCP lets pass a GET and a DELETE without a body, and nothing else but a POST',
    requirements: ['RUL-10'],
    claims: CLAIMS,
    run: async (tools) => {
      const proxy = await ruledMcp(tools, { tools: ['get_issue'] });
      await expectAll(proxy, expectAllowed, { GET: { method: 'GET' }, DELETE: { method: 'DELETE' } });
      const body = json(CALL);
      await expectAll(proxy, expectDenied, {
        'GET with a body': { ...body, method: 'GET' },
        'DELETE with a body': { ...body, method: 'DELETE' },
        OPTIONS: { method: 'OPTIONS' },
        'OPTIONS with a body': { ...body, method: 'OPTIONS' },
        'POST without a body': {},
      });
    },
  },
  {
    id: 'request-rules.tools',
    title: 'a tool is called by its name, in which * of a rule is any characters, and no other one is',
    requirements: ['RUL-03', 'RUL-10', 'PRX-06'],
    claims: CLAIMS,
    run: async (tools) => {
      const proxy = await ruledMcp(
        tools,
        { tools: ['get_issue', 'search_*', '*.read', 'a*b*c'] },
        { tools: ['list'] },
      );
      const given = { text: randomToken(), more: [1, { a: null }] };
      const bodies = (...names: readonly string[]): Calls =>
        named(names.map((name) => toolCall(name, given)));
      await expectAll(
        proxy,
        expectAllowed,
        bodies(
          'get_issue',
          'search_',
          'search_code',
          'search_\u00fc\n',
          'x.read',
          '.read',
          'abc',
          'a-b-b-c',
          'list',
        ),
      );
      const sent = Buffer.from(proxy.place.calls.at(-1)?.body ?? []).toString();
      const last = await proxy.call(json(message('ping')));
      expectThat(
        sent === toolCall('list', given),
        last,
        'the call of a tool at the upstream byte for byte, before this one',
      );
      await expectAll(
        proxy,
        expectDenied,
        bodies(
          'get_issues',
          'get_issu',
          'GET_ISSUE',
          'research_code',
          'search',
          'xread',
          'a.reads',
          'ab',
          'acb',
          'lists',
          '',
        ),
      );
    },
  },
  {
    id: 'request-rules.arguments',
    title: 'an argument is one of the values of its rule, of the same type, wherever its pointer leads',
    requirements: ['RUL-03', 'RUL-13'],
    claims: CLAIMS,
    run: async (tools) => {
      const proxy = await ruledMcp(
        tools,
        { tools: ['get'], arguments: { '/repo': ['acme/site', 'acme/docs'], '/n': [1, true, null] } },
        { tools: ['deep'], arguments: { '/a/b~1c/1/~0d': ['yes'] } },
        { tools: ['first'], arguments: { '/a/0': ['yes'] } },
        { tools: ['free'] },
      );
      const deep = (value: unknown): string => toolCall('deep', { a: { 'b/c': ['x', { '~d': value }] } });
      await expectAll(
        proxy,
        expectAllowed,
        named([
          ...[1, true, null].map((n) => toolCall('get', { repo: 'acme/docs', n })),
          toolCall('get', { more: 1, n: 1, repo: 'acme/site' }),
          deep('yes'),
          toolCall('first', { a: ['yes', 'no'] }),
          toolCall('free', { repo: 'other/site' }),
        ]),
      );
      await expectAll(
        proxy,
        expectDenied,
        named([
          ...['acme/sit', 'acme/site/', 'Acme/site', '', ['acme/site'], { '0': 'acme/site' }, null].map(
            (repo) => toolCall('get', { repo, n: 1 }),
          ),
          ...['1', 'true', 'null', 2, false, 0, [1], {}].map((n) =>
            toolCall('get', { repo: 'acme/site', n }),
          ),
          deep('no'),
          toolCall('first', { a: ['no', 'yes'] }),
          toolCall('first', { a: 'yes' }),
          toolCall('deep', { a: { 'b/c': { '1': { '~d': 'no' } } } }),
          toolCall('deep', { a: { b: { c: ['x', { '~d': 'yes' }] } } }),
        ]),
      );
    },
  },
  {
    id: 'request-rules.numbers',
    title: 'a number is matched as an integer, and not where it is written with a fraction or an exponent',
    requirements: ['RUL-13'],
    claims: CLAIMS,
    run: async (tools) => {
      const proxy = await ruledMcp(tools, { tools: ['get'], arguments: { '/n': [5, -20, 0] } });
      const written = (...numbers: readonly string[]): Calls =>
        named(numbers.map((number) => toolCall('get', { n: 'N', m: 1.5 }).replace('"N"', number)));
      await expectAll(proxy, expectAllowed, written('5', '-20', '0'));
      const others = ['5.0', '5e0', '50e-1', '0.5E+1', '-2e1', '0.0', '4.99999999999999999999', '6'];
      await expectAll(proxy, expectDenied, written(...others));
    },
  },
  {
    id: 'request-rules.missing-arguments',
    title: 'an argument that is missing is not matched, whatever values its rule has',
    requirements: ['RUL-13'],
    claims: CLAIMS,
    run: async (tools) => {
      const proxy = await ruledMcp(tools, TWO_ARGUMENTS);
      await expectAll(
        proxy,
        expectAllowed,
        named([RIGHT_ARGUMENTS, { ...RIGHT_ARGUMENTS, Other: 1 }].map((given) => toolCall('get', given))),
      );
      const variants: readonly unknown[] = [
        {},
        { repo: 'acme/site' },
        { in: { key: 'a' } },
        { repo: 'acme/site', in: {} },
        { repo: 'acme/site', in: 'a' },
        { repo: 'acme/site', in: ['a'] },
        { Repo: 'acme/site', in: { key: 'a' } },
        { repo: 'acme/site', 'in/key': 'a' },
      ];
      await expectAll(proxy, expectDenied, named(variants.map((given) => toolCall('get', given))));
      const bare = { 'no arguments': json(message('tools/call', { name: 'get' })) };
      await expectAll(proxy, expectDenied, bare);
    },
  },
  {
    id: 'request-rules.argument-readings',
    title:
      'a call with an argument of a rule twice, in two letter cases, is denied, whatever other rules allow',
    requirements: ['RUL-16'],
    claims: CLAIMS,
    run: async (tools) => {
      const variants: readonly unknown[] = [
        { ...RIGHT_ARGUMENTS, Repo: 'other/site' },
        { REPO: null, ...RIGHT_ARGUMENTS },
        { ...RIGHT_ARGUMENTS, In: { key: 'b' } },
        { ...RIGHT_ARGUMENTS, in: { key: 'a', Key: 'b' } },
        { ...RIGHT_ARGUMENTS, in: { key: 'a', '\u212aey': 'b' } },
        { repo: 'other/site', in: { key: 'a', KEY: 'b' } },
      ];
      const calls = named(variants.map((given) => toolCall('get', given)));
      const any = { tools: ['*'] };
      for (const rules of [[TWO_ARGUMENTS], [TWO_ARGUMENTS, any], [any, TWO_ARGUMENTS]])
        await expectAll(await ruledMcp(tools, ...rules), expectDenied, calls);
    },
  },
  {
    id: 'request-rules.message-readings',
    title: 'a body that two programs could read as two messages, or as none, is denied',
    requirements: ['RUL-10', 'RUL-11'],
    claims: CLAIMS,
    run: async (tools) => {
      const proxy = await ruledMcp(tools, { tools: ['get_issue'] }, { mcp: ['resources/*'] });
      await expectAll(proxy, expectAllowed, ONE_READING);
      await expectAll(proxy, expectDenied, TWO_READINGS);
    },
  },
  {
    id: 'request-rules.mirrors',
    title: 'Mcp-Method and Mcp-Name that say something else than the body are denied',
    requirements: ['RUL-11'],
    claims: CLAIMS,
    run: async (tools) => {
      const proxy = await ruledMcp(tools, { tools: ['*'] }, { mcp: ['resources/*'] });
      const read = message('resources/read', { uri: 'file:///a' });
      await expectAll(proxy, expectAllowed, {
        'both as the body': withMirrors(CALL, ['mcp-method', 'tools/call'], ['mcp-name', 'get_issue']),
        'a tool in base64': withMirrors(CALL, ['mcp-name', base64('get_issue')]),
        'the method alone': withMirrors(CALL, ['mcp-method', 'tools/call']),
        'a resource': withMirrors(read, ['mcp-method', 'resources/read'], ['mcp-name', 'file:///a']),
      });
      await expectAll(proxy, expectDenied, {
        'another method': withMirrors(CALL, ['mcp-method', 'tools/list']),
        'a method in another case': withMirrors(CALL, ['mcp-method', 'Tools/Call']),
        'another tool': withMirrors(CALL, ['mcp-method', 'tools/call'], ['mcp-name', 'delete_repo']),
        'a tool in another case': withMirrors(CALL, ['mcp-name', 'Get_issue']),
        'the beginning of a tool': withMirrors(CALL, ['mcp-name', 'get']),
        'a method in base64': withMirrors(CALL, ['mcp-method', base64('tools/call')]),
        'another tool in base64': withMirrors(CALL, ['mcp-name', base64('delete_repo')]),
        'another resource': withMirrors(read, ['mcp-name', 'file:///b']),
        'a tool where there is none': withMirrors(message('ping'), ['mcp-name', 'get_issue']),
        'a method beside a response': withMirrors(RESPONSE, ['mcp-method', 'tools/call']),
        'a tool beside a response': withMirrors(RESPONSE, ['mcp-name', 'get_issue']),
      });
    },
  },
  {
    id: 'request-rules.templates-count',
    title: 'headers of the templates count as those of the request do: a type, a coding, a mirror',
    requirements: ['RUL-04', 'RUL-11'],
    claims: CLAIMS,
    run: async (tools) => {
      const record = await givenRules(tools, (base) => [{ tools: ['*'], paths: [base] }]);
      const wrong = [
        ['content-type', 'text/plain'],
        ['Content-Type', 'application/json; charset=utf-7'],
        ['content-encoding', 'gzip'],
        ['mcp-method', 'tools/list'],
        ['Mcp-Name', 'delete_repo'],
      ] as const;
      for (const [name, value] of wrong) {
        const proxy = await record.proxy('', { authorization: '${TOKEN}', [name]: value });
        await expectDenied(proxy, () => proxy.call(json(CALL)), `a template "${name}: ${value}"`);
      }
      const right = {
        authorization: '${TOKEN}',
        'content-type': 'application/json',
        'mcp-name': 'get_issue',
      };
      const proxy = await record.proxy('', right);
      const call = withMirrors(CALL, ['mcp-name', 'delete_repo']);
      await expectAllowed(proxy, () => proxy.call({ ...call }), 'a template that replaces a wrong header');
      await expectAllowed(
        proxy,
        () => proxy.call(json(CALL, 'text/plain')),
        'a template that replaces a wrong type',
      );
    },
  },
];
