import type { Check } from '../../check/check.ts';
import { expectOk, expectThat } from '../../check/expect.ts';
import { NotTestable } from '../../check/outcome.ts';
import type { ProxiedCall } from '../../check/tools.ts';
import { calledOnce, expectUncalled, received, setUpProxy, storeText } from '../../upstream/proxy-setup.ts';
import { ELSEWHERE, hostOf } from './own-host.ts';
import {
  expectAllowed,
  expectDenied,
  expectPathsAllowed,
  expectPathsDenied,
  givenRules,
  json,
  type Rule,
} from './ruled-record.ts';
import { form, OTHER_METHOD, SAME_METHOD } from './request-rule-bodies.ts';

const CLAIMS = ['proxy', 'store', 'request-rules'] as const;
/** What a proxy may ask, by the path of its place. */
type Rules = (base: string) => readonly Rule[];

const post = (...paths: readonly string[]): Rules => {
  return (base) => [{ methods: ['POST'], paths: paths.map((path) => base + path) }];
};
const OPEN = post('/open/**');

const OTHER_METHOD_HEADERS = [
  'X-HTTP-Method-Override',
  'x-http-method',
  'X-Method-Override',
  'X_HTTP_Method_Override',
];
const OTHER_PATH_HEADERS = ['X-Original-URL', 'x-rewrite-url', 'X_Original_URL', 'X-Rewrite_URL'];

/** Protocol section 5.7: the method, the host and the path of a call. */
export const REQUEST_RULE_CHECKS: readonly Check[] = [
  {
    id: 'request-rules.paths',
    title:
      'a path is allowed that a pattern matches by segments: * is one of them, ** all that follows its slash',
    requirements: ['RUL-03'],
    claims: CLAIMS,
    run: async (tools) => {
      const record = await givenRules(
        tools,
        post('/exact', '/exact/', '/one/*/issues', '/all/**', '/both/*/x/**', '/some/a.b', '/last/*'),
      );
      await expectPathsAllowed(record, [
        ...['/exact', '/exact/', '/one/acme/issues', '/one/a.b-c~d/issues', '/one/*/issues'],
        ...['/all/', '/all/a', '/all/a/b/c/', '/both/y/x/', '/both/y/x/z/z', '/some/a.b', '/last/a'],
        ...['/exact?page=1', '/all/a?x=/../b&y=%2F', "/all/a:b@c!$&'()*+,=d"],
      ]);
      await expectPathsDenied(record, [
        ...['', '/', '/exac', '/exacts', '/exact/a', '/one/issues', '/one/acme', '/one/acme/issues/'],
        ...[
          '/one/acme/site/issues',
          '/one/acme/issues/1',
          '/all',
          '/alla',
          '/both/x/',
          '/both/y/x',
          '/both/y/z/x/',
        ],
        ...['/last/', '/last/a/', '/some/aXb', '/other/exact', '/exact%3Fpage', '/exac%74s'],
      ]);
    },
  },
  {
    id: 'request-rules.path-spelling',
    title:
      'paths are compared with letter case, unreserved characters decoded once, other triplets as they are',
    requirements: ['RUL-06'],
    claims: CLAIMS,
    run: async (tools) => {
      const record = await givenRules(
        tools,
        post('/Open', '/%61/%7e', '/caf%c3%a9', '/a%20b', '/x%2Cy', '/u,v', '/%2A'),
      );
      await expectPathsAllowed(record, [
        ...['/Open', '/O%70en', '/%4fpen', '/a/~', '/%61/%7E', '/%61/~', '/caf%C3%A9', '/c%61f%c3%A9'],
        ...['/a%20b', '/%61%20%62', '/x%2cy', '/u,v', '/%2a'],
      ]);
      await expectPathsDenied(record, [
        ...['/open', '/OPEN', '/%6Fpen', '/A/~', '/cafe', '/a+b', '/x,y', '/u%2Cv', '/*', '/anything'],
      ]);
    },
  },
  {
    id: 'request-rules.path-readings',
    title:
      'a path with delimiters in disguise, empty segments or what is no UTF-8 is denied, whatever the rules',
    requirements: ['RUL-07'],
    claims: CLAIMS,
    run: async (tools) => {
      const record = await givenRules(tools, OPEN);
      await expectPathsAllowed(record, [
        '/open/a',
        '/open/',
        '/open/%C3%BC%E2%82%AC',
        '/open/a%20b%26%3D%2B',
      ]);
      await expectPathsDenied(record, [
        ...[
          `/open/${'long-'.repeat(820)}`,
          '/open/a;b',
          '/open/a;v=1/b',
          '/open/a[0]',
          '/open//a',
          '/open/a//b',
          '/open/a//',
          '/open//',
        ],
        ...[
          '/open/a%2Fb',
          '/open/a%2fb',
          '/open/..%2Fclosed',
          '/open/a%5Cb',
          '/open/..%5cclosed',
          '/open/a%3Bb',
        ],
        ...[
          '/open/a%3bb',
          '/open/a%00',
          '/open/a%00b',
          '/open/a%0Ab',
          '/open/a%0d%0ab',
          '/open/%1F',
          '/open/%7f',
        ],
        ...[
          '/open/a%252Fb',
          '/open/%252e%252e/closed',
          '/open/%2541',
          '/open/a%25%32%66b',
          '/open/a%25zz%2525',
        ],
        ...['/open/%FF', '/open/a%C0%AFb', '/open/%C3', '/open/%ED%A0%80', '/open/a%C2%85b'],
        // Fullwidth and the like: some programs make of them what they look like.
        ...['/open/a%EF%BC%8Fb', '/open/%EF%BC%8E%EF%BC%8E/closed', '/open/a%EF%BC%BCb', '/open/a%EF%BC%9Bb'],
        ...[
          '/open/%EF%BC%852e',
          '/open/a%EF%BC%9Fb',
          '/open/a%EF%BC%83b',
          '/open/%E2%80%A5/closed',
          '/open/%E2%84%80',
        ],
      ]);
    },
  },
  {
    id: 'request-rules.dot-segments',
    title: 'a path with a segment of dots is denied, also where it leads out of the rule once it is resolved',
    requirements: ['RUL-07'],
    claims: CLAIMS,
    run: async (tools) => {
      const record = await givenRules(tools, OPEN);
      await expectPathsAllowed(record, ['/open/.well-known/x', '/open/a..b', '/open/..a', '/open/a.']);
      await expectPathsDenied(record, [
        ...['/open/..', '/open/../closed', '/open/../../closed', '/open/a/../../closed', '/open/./../closed'],
        ...['/open/%2e%2e/closed', '/open/%2E./closed', '/open/.%2e/closed', '/open/a/%2e%2e/%2e%2e/closed'],
        ...['/open/..\\closed', '/open/...', '/open/.../closed', '/open/%2e%2e%2e/closed', '/open/..../a'],
        ...['/open/.%20', '/open/..%20/closed', '/open/.%20./closed', '/open/%2e%2e%20/closed'],
      ]);
    },
  },
  {
    id: 'request-rules.methods',
    title: 'a rule for HTTP allows its methods and no others',
    requirements: ['RUL-03'],
    claims: CLAIMS,
    run: async (tools) => {
      for (const methods of [['GET'], ['DELETE', 'OPTIONS'], ['POST', 'PUT']]) {
        const proxy = await (await givenRules(tools, (base) => [{ methods, paths: [base] }])).proxy();
        for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS']) {
          const expect = methods.includes(method) ? expectAllowed : expectDenied;
          await expect(
            proxy,
            () => proxy.call({ method }),
            `${method}, with a rule for ${methods.join(', ')}`,
          );
        }
      }
    },
  },
  {
    id: 'request-rules.any-body',
    title: 'a rule for HTTP asks nothing of the body, which arrives as it was sent',
    requirements: ['RUL-03', 'PRX-06'],
    claims: CLAIMS,
    run: async (tools) => {
      const proxy = await (await givenRules(tools, post(''))).proxy();
      for (const [type, body] of [
        ['application/json', '[{"a":1,"a":2}]'],
        ['application/json', '{"method":"tools/call","Method":"x"'],
        ['text/plain', 'any text'],
      ] as const) {
        const answer = await expectAllowed(proxy, () => proxy.call(json(body, type)), `the body ${body}`);
        const sent = Buffer.from(proxy.place.calls.at(-1)?.body ?? []).toString();
        expectThat(sent === body, answer, `the body ${body} at the upstream, as it was sent`);
      }
    },
  },
  {
    id: 'request-rules.hosts',
    title:
      'a rule with hosts allows nothing at another host, port or scheme; one without, wherever allowedHosts does',
    requirements: ['RUL-03'],
    claims: CLAIMS,
    run: async (tools) => {
      const { entry, scheme, host, port } = await hostOf(tools);
      const otherScheme = `${scheme === '' ? 'http://' : ''}${host}${port === undefined ? '' : `:${port}`}`;
      const withHosts = (hosts: readonly string[]): Rules => {
        return (base) => [{ methods: ['POST'], paths: [base], hosts }];
      };
      for (const hosts of [[ELSEWHERE], [`${scheme}${ELSEWHERE}`], [`${scheme}${host}:1`], [otherScheme]]) {
        const proxy = await (await givenRules(tools, withHosts(hosts))).proxy();
        await expectDenied(proxy, () => proxy.call(), `a rule for the hosts ${JSON.stringify(hosts)}`);
      }
      for (const hosts of [[entry], [ELSEWHERE, entry]]) {
        const proxy = await (await givenRules(tools, withHosts(hosts))).proxy();
        await expectAllowed(proxy, () => proxy.call(), `a rule for the hosts ${JSON.stringify(hosts)}`);
      }
    },
  },
  {
    id: 'request-rules.whole-rule',
    title: 'what one rule says of the path, and another one of the method, allows nothing together',
    requirements: ['RUL-03'],
    claims: CLAIMS,
    run: async (tools) => {
      const record = await givenRules(tools, (base) => [
        { methods: ['GET'], paths: [`${base}/read`] },
        { methods: ['POST'], paths: [`${base}/write`] },
        { methods: ['POST'], paths: [`${base}/read`], hosts: [ELSEWHERE] },
      ]);
      for (const [rest, method] of [
        ['/read', 'POST'],
        ['/write', 'GET'],
      ] as const) {
        const proxy = await record.proxy(rest);
        await expectDenied(proxy, () => proxy.call({ method }), `${method} of ${rest}`);
      }
      for (const [rest, method] of [
        ['/read', 'GET'],
        ['/write', 'POST'],
      ] as const) {
        const proxy = await record.proxy(rest);
        await expectAllowed(proxy, () => proxy.call({ method }), `${method} of ${rest}`);
      }
    },
  },
  {
    id: 'request-rules.other-method',
    title: 'a request that names another method in a header, in its query or in its body is denied',
    requirements: ['RUL-09', 'RUL-04'],
    claims: CLAIMS,
    run: async (tools) => {
      const record = await givenRules(tools, OPEN);
      await expectPathsAllowed(record, [
        '/open/a?method=DELETE',
        '/open/a?a=_method',
        '/open/a?_methods=1&my_method=2',
        '/open/_method',
      ]);
      await expectPathsDenied(record, [
        ...[
          '/open/a?_method=DELETE',
          '/open/a?a=1&_method=PUT',
          '/open/a?%5Fmethod=DELETE',
          '/open/a?_method',
          '/open/a?$httpMethod=DELETE',
          '/open/a?a=1;_method=PUT',
        ],
      ]);
      for (const name of OTHER_METHOD_HEADERS) {
        const proxy = await record.proxy('/open/a', { authorization: '${TOKEN}', [name]: 'DELETE' });
        await expectDenied(proxy, () => proxy.call(), `a template for ${name}`);
      }
      const proxy = await record.proxy('/open/a');
      for (const [what, call] of Object.entries(SAME_METHOD))
        await expectAllowed(proxy, () => proxy.call(call), what);
      for (const [what, call] of Object.entries(OTHER_METHOD))
        await expectDenied(proxy, () => proxy.call(call), what);
    },
  },
  {
    id: 'request-rules.other-path',
    title: 'a request that names another path in a header is denied',
    requirements: ['RUL-09', 'RUL-04'],
    claims: CLAIMS,
    run: async (tools) => {
      const record = await givenRules(tools, OPEN);
      for (const name of OTHER_PATH_HEADERS) {
        const proxy = await record.proxy('/open/a', { authorization: '${TOKEN}', [name]: '/closed' });
        await expectDenied(proxy, () => proxy.call(), `a template for ${name}`);
      }
      const other = await record.proxy('/open/a', { authorization: '${TOKEN}', 'x-original': '/closed' });
      await expectAllowed(other, () => other.call(), 'a template for another header');
    },
  },
  {
    id: 'request-rules.moved-configuration',
    title:
      'a configuration that is moved to another path is denied there, and neither ticket nor request widens',
    requirements: ['RUL-04', 'TRU-01'],
    claims: CLAIMS,
    run: async (tools) => {
      const { name: serviceName, place, base } = await givenRules(tools, OPEN);
      const headerTemplates = { authorization: '${TOKEN}' };
      const config = { serviceName, upstreamUrl: `${place.url}/open/a`, headerTemplates };
      const proxyId = await tools.given.proxy(config);
      const call = (how?: Partial<ProxiedCall>): ReturnType<typeof tools.proxied> =>
        tools.proxied({ proxyId, serviceName, ...how });
      await expectAllowed({ place }, call, 'the path that is allowed');
      const put = { op: 'proxies.put', proxyId, ...config, upstreamUrl: `${place.url}/closed` };
      const moved = await tools.storage(put);
      if (moved.status !== 200) throw new NotTestable('the configuration could not be moved', moved);
      await expectDenied({ place }, call, 'a configuration that was moved');
      const requests = [{ methods: ['POST', 'GET'], paths: ['/**', `${base}/**`] }];
      const claims = { requests, path: `${base}/open/a`, upstreamUrl: config.upstreamUrl };
      await expectDenied(
        { place },
        () => call({ ticket: { claims } }),
        'a ticket that names rules and a path',
      );
      const headers = [['sv-upstream-path', `${base}/open/a`] as const];
      const body = JSON.stringify({ requests });
      await expectDenied({ place }, () => call({ headers, body }), 'a request that names rules and a path');
    },
  },
  {
    id: 'request-rules.newest-rules',
    title: 'the rules that were stored last count, and none where the record was stored without',
    requirements: ['RUL-03', 'RUL-15', 'SAV-03'],
    claims: CLAIMS,
    run: async (tools) => {
      const { name, value, place, base, proxy } = await givenRules(tools, post('/a'));
      const { allowedHost } = await tools.given.upstream();
      const { call } = await proxy('/a');
      await expectAllowed({ place }, call, 'a path that is allowed');
      const plain = { tokenType: 'PlainText', value, allowedHosts: [allowedHost] };
      expectOk(await tools.store(name, { ...plain, requests: post('/b')(base) }));
      await expectDenied({ place }, call, 'a path that is allowed no more');
      expectOk(await tools.store(name, plain));
      await expectAllowed({ place }, call, 'a record that is stored without rules');
    },
  },
  {
    id: 'request-rules.without-rules',
    title: 'a record without rules goes to any path of its hosts, with any header, query and body',
    requirements: ['RUL-15'],
    claims: CLAIMS,
    run: async (tools) => {
      const record = await storeText(tools);
      const headerTemplates = {
        authorization: '${TOKEN}',
        'x-http-method-override': 'PUT',
        'x-original-url': '/b',
      };
      const rest = '/a;b//c%2Fd%252e?_method=DELETE';
      const proxy = await setUpProxy(tools, { record, headerTemplates, rest });
      for (const [before, call] of [
        json('[{"a":1,"a":2}]'),
        form('_method=DELETE'),
        { method: 'OPTIONS' },
      ].entries()) {
        const answer = await proxy.call(call);
        const arrived = calledOnce(proxy, answer, before);
        const isSame = arrived.rest === rest && received(arrived, 'x-original-url')[0] === '/b';
        expectThat(isSame, answer, `the path ${rest} and the headers of the templates at the upstream`);
      }
    },
  },
  {
    id: 'request-rules.after-destination',
    title: 'a call that hosts or headers forbid is refused for that, whatever the rules say',
    requirements: ['RUL-05'],
    claims: CLAIMS,
    run: async (tools) => {
      const settings = { allowedHosts: [ELSEWHERE] };
      const elsewhere = await (await givenRules(tools, post('/a'), { settings })).proxy('/b');
      const code = 'DESTINATION_NOT_ALLOWED';
      expectUncalled(elsewhere, await elsewhere.call(), code, 'a host and a path that are not allowed');
      const marked = await (await givenRules(tools, post('/a'))).proxy('/b', { 'x-other': '${TOKEN}' });
      expectUncalled(marked, await marked.call(), code, 'a header and a path that are not allowed');
    },
  },
];
