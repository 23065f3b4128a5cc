import type { Check } from '../../check/check.ts';
import { eachVariant } from '../../check/each-variant.ts';
import { expectThat } from '../../check/expect.ts';
import type { Tools } from '../../check/tools.ts';
import type { Answer } from '../../http/client.ts';
import { expectCalled, setUpApi, type ApiSetup } from '../../upstream/api-setup.ts';
import { calledOnce, expectUncalled, setUpProxy, storeText } from '../../upstream/proxy-setup.ts';

const CLAIMS = ['storage', 'store', 'proxy', 'http-proxy'] as const;

/** Targets that a program between webhook and suite leaves as they are. */
const PLAIN = [
  '',
  '/',
  '/a',
  '/a/b/',
  '?page=2',
  '/a?b=c&d=%20',
  '/a%20b',
  '/a/?',
  '/.well-known/x',
  '/a..b',
];
/** Targets that some of these programs rewrite. */
const EXACT = [
  ...[
    '/a%2Fb',
    '/%41%7e',
    '/a%2fB',
    '/a//b',
    '/a/b//',
    '/a;v=1',
    "/a!$&'()*+,=:@b",
    '/a./b..;c/.d.',
    '/caf%C3%A9',
    '/%zz',
    '/a{b}"<c>|^`',
    '/a[0]',
  ],
  ...[
    "/a?q='x'",
    '/a?q="x"',
    '/a?q=<x>',
    '/a?q=a|b^{c}`',
    '/a?q=[0]',
    '/a?a=../..&b=//c',
    '/a??',
    '/a?q=%27',
  ],
];
const TWO_READINGS = [
  ...['/a%2F..%2Fb', '/..%2fx', '/%252e%252e/x', '/..;a/b', '/...', '/.%20/x', '/..%5Cx', '/..%3Ba'],
  ...['/..', '/../x', '/a/..', '/a/../b', '/.', '/./a', '/a/.', '/%2e%2e/x', '/%2E/x', '/.%2e/x', '/a/%2e'],
  ...['/a\\b', '\\a', '/..\\a', '/a?b\\c', '/a#b', '#', '/a?b#c', '/a b', '/a?b c'],
];
const NO_TARGET = ['a', '@another.example/', ':1/', '.another.example/', '*', 'https://another.example/'];

const code = 'REQUEST_NOT_ALLOWED';

/** Protocol section 5.8: the target, method and body of a call to an HTTP API. */
export const HTTP_TARGET_CHECKS: readonly Check[] = [
  {
    id: 'http-proxy.target',
    title: 'an HTTP API is called at its base followed by the target, byte for byte',
    requirements: ['HTP-11', 'HTP-14'],
    claims: CLAIMS,
    run: async (tools) => {
      const { direct } = await tools.given.upstream();
      for (const base of ['', '/v1', '/v1/', '/a%20b/c']) {
        const api = await setUpApi(tools, { base });
        for (const target of direct && base !== '/v1/' ? [...PLAIN, ...EXACT] : PLAIN) {
          const { answer, call } = await expectCalled(api, target);
          const expected = base.replace(/\/$/, '') + target;
          expectThat(
            call.rest === expected,
            answer,
            `the upstream called at ${expected}, not at ${call.rest}`,
          );
        }
      }
      if (direct) await expectRootCalled(tools);
    },
  },
  {
    id: 'http-proxy.target-readings',
    title: 'a target that two programs may read differently is denied without a call, even without rules',
    requirements: ['HTP-12', 'HTP-13'],
    claims: CLAIMS,
    run: async (tools) => {
      const api = await setUpApi(tools, { base: '/v1' });
      for (const target of [...TWO_READINGS, ...NO_TARGET])
        expectUncalled(api, await api.call(target), code, `the target ${JSON.stringify(target)}`);
      const root = await callRoot(tools, api, '//another.example/a');
      expectUncalled(api, root, code, 'two slashes behind a base without a path');
    },
  },
  {
    id: 'http-proxy.target-covered',
    title: 'a target that the signature does not cover, or another than the covered one, is refused',
    requirements: ['HTP-08', 'SIG-07'],
    claims: CLAIMS,
    run: async (tools) => {
      const api = await setUpApi(tools);
      const uncovered = await api.call('/a', { signature: { covers: [] } });
      expectUncalled(api, uncovered, 'SIGNATURE_INVALID', 'a target that is not covered');
      const request = requestTo(tools, api, '/a');
      const headers = (request.headers ?? []).map(
        ([name, value]) => [name, name === 'sv-target' ? '/b' : value] as const,
      );
      const answer = await tools.send({ ...request, headers });
      expectUncalled(api, answer, 'SIGNATURE_INVALID', 'another target than the covered one');
    },
  },
  {
    id: 'http-proxy.kinds',
    title: 'a target for an MCP server, and a call of an HTTP API without one, are refused without a call',
    requirements: ['HTP-09', 'PRX-19'],
    claims: CLAIMS,
    run: async (tools) => {
      const [api, mcp] = [await setUpApi(tools), await setUpProxy(tools)];
      const refused = 'DESTINATION_NOT_ALLOWED';
      for (const target of ['', '/a'])
        expectUncalled(mcp, await mcp.call({ target }), refused, `the target ${JSON.stringify(target)}`);
      const { proxyId, name: serviceName } = api;
      for (const method of ['GET', 'POST'])
        expectUncalled(
          api,
          await tools.proxied({ proxyId, serviceName, method }),
          refused,
          `${method} without`,
        );
    },
  },
  {
    id: 'http-proxy.target-length',
    title: 'a target of 8 KiB is called, a longer one is denied',
    requirements: ['HTP-12'],
    claims: CLAIMS,
    run: async (tools) => {
      const api = await setUpApi(tools);
      const longest = `/a?${'x'.repeat(8 * 1024 - 3)}`;
      const { answer, call } = await expectCalled(api, longest);
      expectThat(call.rest === longest, answer, 'the whole target at the upstream');
      expectUncalled(api, await api.call(`${longest}x`), code, 'a target of 8 KiB and a byte', 1);
    },
  },
  {
    id: 'http-proxy.methods',
    title: 'an HTTP API is called with any method but CONNECT and TRACE',
    requirements: ['HTP-10', 'TIX-27', 'PRX-07'],
    claims: CLAIMS,
    run: async (tools) => {
      const api = await setUpApi(tools);
      const plain = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
      for (const method of [...plain, 'PROPFIND', 'REPORT', 'M-SEARCH', 'LINK']) {
        const { answer, call } = await expectCalled(api, '/a', { method });
        expectThat(call.method === method, answer, `${method} at the upstream, not ${call.method}`);
      }
      const before = api.place.calls.length;
      for (const method of ['CONNECT', 'TRACE', 'get', 'GET ', '', 'X'.repeat(21)]) {
        const answer = await api.call('/a', { method });
        expectUncalled(api, answer, 'TICKET_INVALID', `the method ${JSON.stringify(method)}`, before);
      }
    },
  },
  {
    id: 'http-proxy.methods-of-mcp',
    title: 'an MCP server is still called only with GET, POST, DELETE and OPTIONS',
    requirements: ['HTP-10'],
    claims: CLAIMS,
    run: async (tools) => {
      const mcp = await setUpProxy(tools);
      for (const method of ['PUT', 'PATCH', 'HEAD', 'PROPFIND', 'FORGET', 'GETS'])
        expectUncalled(mcp, await mcp.call({ method }), 'DESTINATION_NOT_ALLOWED', `${method} of MCP`);
    },
  },
  {
    id: 'http-proxy.body',
    title: 'a body is sent byte for byte with each method, a compressed one as it is',
    requirements: ['HTP-20', 'PRX-06'],
    claims: CLAIMS,
    run: async (tools) => {
      const api = await setUpApi(tools);
      const body = Uint8Array.from({ length: 512 }, (_, at) => (at * 7) % 256);
      const headers = [
        ['content-type', 'application/x-git-upload-pack-request'],
        ['content-encoding', 'gzip'],
      ] as const;
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND']) {
        const { answer, call } = await expectCalled(api, '/a', { method, body, headers });
        expectThat(Buffer.from(body).equals(call.body), answer, `the body, byte for byte, with ${method}`);
      }
    },
  },
  {
    id: 'http-proxy.rules',
    title: 'request rules are compared with base and target, and deny an encoded slash',
    requirements: ['HTP-15', 'RUL-04', 'RUL-07', 'RUL-08', 'RUL-09'],
    claims: [...CLAIMS, 'request-rules'],
    run: async (tools) => {
      const base = '/v1';
      const place = (await tools.given.upstream()).open();
      const path = new URL(place.url).pathname + base;
      const requests = [
        { methods: ['GET', 'PATCH'], paths: [`${path}/issues/*`, `${path}/open/**`] },
        { methods: ['PATCH'], paths: [`${path}/written/*`] },
      ];
      const record = await storeText(tools, { requests });
      const api = await setUpApi(tools, { record, place, base });
      for (const [method, target] of [
        ['GET', '/issues/1'],
        ['HEAD', '/issues/1?a=b'],
        ['PATCH', '/open/a/b'],
      ] as const)
        await expectCalled(api, target, { method });
      const queryTemplates = { _method: 'DELETE' };
      const overriding = await setUpApi(tools, { record, place, base, headerTemplates: {}, queryTemplates });
      const before = place.calls.length;
      await eachVariant(
        {
          'another path': () => api.call('/issues'),
          'a path below': () => api.call('/issues/1/2'),
          'another method': () => api.call('/issues/1', { method: 'PUT' }),
          'HEAD where GET is not allowed': () => api.call('/written/1', { method: 'HEAD' }),
          'a method with another character': () => api.call('/open/a', { method: 'M-SEARCH' }),
          'an encoded slash': () => api.call('/open/a%2Fb'),
          'another method in the query': () => api.call('/open/a?_method=DELETE', { method: 'PATCH' }),
          'another method in a query template': () => overriding.call('/open/a', { method: 'PATCH' }),
          'another method in a header': () =>
            api.call('/open/a', { headers: [['x-http-method-override', 'DELETE']] }),
        },
        async (call) => expectUncalled({ place }, await call(), code, 'it', before),
      );
    },
  },
];

/** Calls an API whose base is the origin of the upstream, without a path. */
async function callRoot(
  tools: Tools,
  { name: serviceName, place }: ApiSetup,
  target: string,
): Promise<Answer> {
  const upstreamUrl = new URL(place.url).origin;
  const proxyId = await tools.given.proxy({ serviceName, upstreamUrl, headerTemplates: {}, kind: 'http' });
  return tools.proxied({ proxyId, serviceName, method: 'GET', target });
}

/** The request line begins with a slash where neither base nor target does. */
async function expectRootCalled(tools: Tools): Promise<void> {
  const api = await setUpApi(tools);
  // The upstream finds its place in the query as well.
  const answer = await callRoot(tools, api, `?at=${new URL(api.place.url).pathname}/a`);
  expectThat(calledOnce(api, answer).rest === '/a', answer, 'a call of / with the query of the target');
}

/** A signed call for the check to change before it is sent. */
function requestTo(
  tools: Tools,
  { proxyId, name }: { readonly proxyId: string; readonly name: string },
  target: string,
): ReturnType<Tools['sign']> {
  const headers = [
    ['sv-target', target],
    ['sv-ticket', tools.ticket('proxy', name, { claims: { prx: proxyId, htm: 'GET' } })],
  ] as const;
  return tools.sign({ method: 'POST', path: '/v1/proxy', headers }, { covers: ['sv-target'] });
}
