import { randomToken } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import { expectThat } from '../../check/expect.ts';
import type { Answer } from '../../http/client.ts';
import { header } from '../../http/read-answer.ts';
import { expectCalled, setUpApi } from '../../upstream/api-setup.ts';
import { expectUncalled, received, storeText, storeTextOf } from '../../upstream/proxy-setup.ts';
import type { UpstreamCall } from '../../upstream/upstream.ts';

const CLAIMS = ['storage', 'store', 'proxy', 'http-proxy'] as const;

/** Fields that APIs read, and some that none defines. */
const TRAVELLING: ReadonlyArray<readonly [name: string, value: string]> = [
  ['accept', 'application/vnd.conformance+json;q=0.9, */*'],
  ['accept-language', 'de-AT'],
  ['user-agent', 'svault-conformance/1 (git)'],
  ['if-none-match', 'W/"5f1c", "6"'],
  ['if-modified-since', 'Thu, 01 Jan 2026 00:00:00 GMT'],
  ['range', 'bytes=2-5, 7-'],
  ['if-range', '"5f1c"'],
  ['prefer', 'return=minimal'],
  ['git-protocol', 'version=2'],
  ['x-github-api-version', '2022-11-28'],
  ['idempotency-key', 'b0f1'],
  ['cache-control', 'no-cache'],
  // They begin like fields that are withheld.
  ['test-run', '7'],
  ['hosted', 'yes'],
  ['x-conformance', 'a "b" c;d'],
  ['traceparent', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'],
];

/** Fields that the webhook withholds though the signature covers them. */
const STAYING = [
  ...['authorization', 'x-mcp-key', 'x-agent-key', 'cookie', 'cookie2', 'origin', 'referer', 'via'],
  ...['sec-fetch-site', 'sec-ch-ua', 'forwarded', 'x-forwarded-for', 'x-forwarded-proto', 'x-real-ip'],
  ...[
    'proxy-authorization',
    'proxy-anything',
    'sv-anything',
    'keep-alive',
    'te',
    'upgrade',
    'http2-settings',
  ],
];

/** Protocol section 5.8: fields, templates and the query of a call to an HTTP API. */
export const HTTP_FIELD_CHECKS: readonly Check[] = [
  {
    id: 'http-proxy.fields',
    title: 'each header field that the signature covers reaches an HTTP API as it is',
    requirements: ['HTP-18'],
    claims: CLAIMS,
    run: async (tools) => {
      const api = await setUpApi(tools);
      const headers = [...TRAVELLING, ['content-type', 'text/csv; header=present']] as const;
      const { answer, call } = await expectCalled(api, '/a', { method: 'PUT', body: 'a,b', headers });
      for (const [name, value] of headers) {
        const values = received(call, name);
        const isSame = values.length === 1 && values[0] === value;
        expectThat(isSame, answer, `"${name}: ${value}" at the upstream, not ${JSON.stringify(values)}`);
      }
    },
  },
  {
    id: 'http-proxy.uncovered-fields',
    title: 'a header field that the signature does not cover does not reach an HTTP API',
    requirements: ['HTP-18'],
    claims: CLAIMS,
    run: async (tools) => {
      const api = await setUpApi(tools);
      const canary = `stray-${randomToken()}`;
      const names = ['accept', 'user-agent', 'if-none-match', 'mcp-session-id', 'x-custom', 'traceparent'];
      const beside = names.map((name) => [name, canary] as const);
      const { answer, call } = await expectCalled(api, '/a', { beside });
      expectNone(answer, call, canary);
    },
  },
  {
    id: 'http-proxy.fields-that-stay',
    title:
      'keys, cookies and fields of one connection do not reach an HTTP API, nor do those of the signature',
    requirements: ['HTP-18'],
    claims: CLAIMS,
    run: async (tools) => {
      const api = await setUpApi(tools, { headerTemplates: { 'x-other': 'constant' } });
      const canary = `stray-${randomToken()}`;
      const headers = STAYING.map((name) => [name, canary] as const);
      const { answer, call } = await expectCalled(api, '/a', { method: 'POST', body: 'x', headers });
      expectNone(answer, call, canary);
      const ours = ['sv-ticket', 'sv-target', 'signature', 'signature-input', 'content-digest'];
      const sent = call.headers.find(([name]) => ours.includes(name));
      expectThat(sent === undefined, answer, `no "${sent?.[0]}" at the upstream`);
      const codings = received(call, 'accept-encoding');
      expectThat(codings.join() === 'identity', answer, '"accept-encoding: identity" at the upstream');
    },
  },
  {
    id: 'http-proxy.many-fields',
    title: 'a header block of 32 KiB is accepted, and its fields reach an HTTP API',
    requirements: ['HTP-19'],
    claims: CLAIMS,
    run: async (tools) => {
      const api = await setUpApi(tools);
      const headers = Array.from({ length: 7 }, (_, at) => [`x-${at}`, `${at}`.repeat(4096)] as const);
      const { answer, call } = await expectCalled(api, '/a', { headers });
      for (const [name, value] of headers)
        expectThat(received(call, name).join() === value, answer, `the whole "${name}" at the upstream`);
    },
  },
  {
    id: 'http-proxy.named-by-connection',
    title: 'a field that the agent’s Connection names does not reach an HTTP API',
    requirements: ['HTP-18'],
    claims: CLAIMS,
    run: async (tools) => {
      const api = await setUpApi(tools);
      const headers = [
        ['connection', 'close, X-Hop'],
        ['x-hop', 'stray'],
        ['keep-alive', 'stray'],
        ['x-plain', 'stays'],
      ] as const;
      const { answer, call } = await expectCalled(api, '/a', { headers });
      for (const name of ['x-hop', 'keep-alive'])
        expectThat(received(call, name).length === 0, answer, `no "${name}" at the upstream`);
      const connection = received(call, 'connection').join();
      expectThat(
        !/x-hop/i.test(connection),
        answer,
        `a "connection" that does not name x-hop, not ${connection}`,
      );
      expectThat(received(call, 'x-plain').join() === 'stays', answer, '"x-plain" at the upstream');
    },
  },
  {
    id: 'http-proxy.accept-encoding',
    title: 'an HTTP API is asked for an answer that is not compressed, whatever the agent asks',
    requirements: ['HTP-18', 'PRX-04'],
    claims: CLAIMS,
    run: async (tools) => {
      const api = await setUpApi(tools);
      const headers = [['accept-encoding', 'gzip, br']] as const;
      const { answer, call } = await expectCalled(api, '/a', { headers });
      const codings = received(call, 'accept-encoding').join();
      expectThat(codings === 'identity', answer, `"accept-encoding: identity", not ${codings}`);
    },
  },
  {
    id: 'http-proxy.templates',
    title: 'a template replaces the field of the agent, and the credential replaces the marker in it',
    requirements: ['PRX-13', 'PRX-21'],
    claims: CLAIMS,
    run: async (tools) => {
      const headerTemplates = { authorization: 'token ${TOKEN}', 'User-Agent': 'the template' };
      const api = await setUpApi(tools, { headerTemplates });
      const { answer, call } = await expectCalled(api, '/a', { headers: [['user-agent', 'the agent']] });
      const isPutIn = received(call, 'authorization').join() === `token ${api.value}`;
      expectThat(isPutIn, answer, 'the credential in "authorization"');
      expectThat(received(call, 'user-agent').join() === 'the template', answer, 'the template alone');
    },
  },
  {
    id: 'http-proxy.basic',
    title: '${BASIC:user} is replaced by the user and the credential in base64, as in Basic authentication',
    requirements: ['HTP-21'],
    claims: CLAIMS,
    run: async (tools) => {
      for (const user of ['x-access-token', '', '$&a@b!', 'u'.repeat(128)]) {
        const authorization = `Basic \${BASIC:${user}}`;
        const api = await setUpApi(tools, { headerTemplates: { authorization } });
        const { answer, call } = await expectCalled(api, '/a');
        const expected = `Basic ${Buffer.from(`${user}:${api.value}`).toString('base64')}`;
        const isSame = received(call, 'authorization').join() === expected;
        expectThat(isSame, answer, `"user:credential" in base64, for the user ${JSON.stringify(user)}`);
      }
    },
  },
  {
    id: 'http-proxy.basic-is-a-marker',
    title: '${BASIC:user} is refused where another marker is: outside allowedHeaders and allowedQuery',
    requirements: ['HTP-22', 'HTP-25', 'PRX-12'],
    claims: CLAIMS,
    run: async (tools) => {
      const headerTemplates = { 'x-other': '${BASIC:user}' };
      const stray = await setUpApi(tools, { headerTemplates });
      expectUncalled(
        stray,
        await stray.call('/a'),
        'DESTINATION_NOT_ALLOWED',
        'a header that is not allowed',
      );
      const inQuery = await setUpApi(tools, { queryTemplates: { other: '${BASIC:user}' } });
      expectUncalled(
        inQuery,
        await inQuery.call('/a'),
        'DESTINATION_NOT_ALLOWED',
        'a parameter of the query',
      );
      const allowed = await storeText(tools, { allowedHeaders: ['x-other'] });
      const api = await setUpApi(tools, { record: allowed, headerTemplates });
      const { answer, call } = await expectCalled(api, '/a');
      const expected = Buffer.from(`user:${allowed.value}`).toString('base64');
      expectThat(received(call, 'x-other').join() === expected, answer, 'the credential in "x-other"');
    },
  },
  {
    id: 'http-proxy.basic-echo',
    title: 'a header of the answer that holds the replacement of ${BASIC:user} does not come back',
    requirements: ['HTP-22', 'PRX-26'],
    claims: CLAIMS,
    run: async (tools) => {
      const api = await setUpApi(tools, {
        headerTemplates: { authorization: 'Basic ${BASIC:a} ${BASIC:b}' },
        answer: (response, call) => {
          const [, one = '', other = ''] = received(call, 'authorization').join().split(' ');
          const echoes = { 'x-echo': `a=${one};b`, 'x-other': other };
          response.writeHead(200, { ...echoes, 'x-plain': 'stays' }).end('{}');
        },
      });
      const { answer } = await expectCalled(api, '/a');
      for (const name of ['x-echo', 'x-other'])
        expectThat(header(answer, name) === undefined, answer, `no "${name}" with the credential in it`);
      expectThat(header(answer, 'x-plain') === 'stays', answer, 'the headers that do not hold it');
    },
  },
  {
    id: 'http-proxy.query',
    title: 'a query template is added to the query, percent-encoded, and the rest of the query stays',
    requirements: ['HTP-24', 'HTP-21'],
    claims: CLAIMS,
    run: async (tools) => {
      const { allowedHost } = await tools.given.upstream();
      const settings = { allowedHosts: [allowedHost], allowedQuery: ['key', 'auth'] };
      const secret = "canary/?>~ +&=%#'()*!-0123";
      const record = await storeTextOf(tools, secret, settings);
      const queryTemplates = { key: 'v1:${TOKEN}', version: '2&3', auth: '${BASIC:u}' };
      const api = await setUpApi(tools, { record, queryTemplates, headerTemplates: {} });
      const basic = Buffer.from(`u:${secret}`).toString('base64');
      // In any order: they are members of an object.
      const added = [
        `key=${encodeURIComponent(`v1:${secret}`)}`,
        'version=2%263',
        `auth=${encodeURIComponent(basic)}`,
      ];
      for (const [target, before] of [
        ['/a', '/a?'],
        ['/a?b=c', '/a?b=c&'],
        ["/a?b='%20'&KEY=1", "/a?b='%20'&KEY=1&"],
        ['', '?'],
        ['/a?', '/a?'],
        ['/a?b=?', '/a?b=?&'],
      ] as const) {
        const { answer, call } = await expectCalled(api, target);
        const pairs = call.rest.slice(before.length).split('&');
        const isAdded = pairs.toSorted().join('&') === added.toSorted().join('&');
        const what = `the query of ${JSON.stringify(target)} with all three parameters behind it`;
        expectThat(call.rest.startsWith(before) && isAdded, answer, what);
      }
    },
  },
  {
    id: 'http-proxy.not-injectable',
    title: 'a credential with a character that is not legal in a field is not injected, even encoded',
    requirements: ['HTP-23'],
    claims: CLAIMS,
    run: async (tools) => {
      const { allowedHost } = await tools.given.upstream();
      const settings = { allowedHosts: [allowedHost], allowedQuery: ['key'] };
      const [headerTemplates, queryTemplates] = [{ authorization: '${BASIC:u}' }, { key: '${TOKEN}' }];
      for (const character of ['\r', '\n', '\0', '\u00e9', '\x7f']) {
        const record = await storeTextOf(tools, `canary-${character}-0123456789`, settings);
        for (const templates of [{ headerTemplates }, { headerTemplates: {}, queryTemplates }]) {
          const api = await setUpApi(tools, { record, ...templates });
          const what = `${JSON.stringify(character)} in ${JSON.stringify(templates)}`;
          expectUncalled(api, await api.call('/a'), 'NOT_INJECTABLE', what);
        }
      }
    },
  },
  {
    id: 'http-proxy.query-not-allowed',
    title: 'a marker in a query parameter that allowedQuery does not name is refused without a call',
    requirements: ['HTP-25', 'HTP-05'],
    claims: CLAIMS,
    run: async (tools) => {
      const queryTemplates = { key: '${TOKEN}' };
      for (const allowedQuery of [undefined, ['Key'], ['other', 'keys']]) {
        const record = await storeText(tools, allowedQuery && { allowedQuery });
        const api = await setUpApi(tools, { record, queryTemplates });
        const what = `allowedQuery ${JSON.stringify(allowedQuery)}`;
        expectUncalled(api, await api.call('/a'), 'DESTINATION_NOT_ALLOWED', what);
      }
      const record = await storeText(tools);
      const constants = { version: '2', one: '${token}', other: '${basic:u}' };
      const constant = await setUpApi(tools, { record, queryTemplates: constants });
      await expectCalled(constant, '/a');
    },
  },
  {
    id: 'http-proxy.query-named',
    title: 'a query of the agent that names the parameter of a template, however it is spelled, is denied',
    requirements: ['HTP-26'],
    claims: CLAIMS,
    run: async (tools) => {
      const record = await storeText(tools, { allowedQuery: ['key'] });
      const queryTemplates = { key: '${TOKEN}', version: '2' };
      const api = await setUpApi(tools, { record, queryTemplates });
      for (const target of [
        '/a?key=1',
        '/a?b=1&key',
        '/a?%6bey=1',
        '/a?b&k%65y=',
        '/a?version=3',
        '?key',
        '/a?b=1;key=2',
        '/a?%zz&key=1',
      ])
        expectUncalled(api, await api.call(target), 'REQUEST_NOT_ALLOWED', target);
    },
  },
  {
    id: 'http-proxy.query-echo',
    title:
      'a header of the answer that holds the credential as it is encoded in the query does not come back',
    requirements: ['HTP-27'],
    claims: CLAIMS,
    run: async (tools) => {
      const { allowedHost } = await tools.given.upstream();
      const settings = { allowedHosts: [allowedHost], allowedQuery: ['key'] };
      const record = await storeTextOf(tools, 'canary/?>~ +&=%canary/?>~', settings);
      const api = await setUpApi(tools, {
        record,
        queryTemplates: { key: '${TOKEN}' },
        answer: (response, { rest }) => {
          const fields = { location: `/b${rest}`, 'content-location': rest, link: `<${rest}>; rel="next"` };
          response.writeHead(302, { ...fields, 'x-plain': 'stays' }).end('{}');
        },
      });
      const { answer } = await expectCalled(api, '/a');
      for (const name of ['location', 'content-location', 'link'])
        expectThat(header(answer, name) === undefined, answer, `no "${name}" with the credential in it`);
      expectThat(header(answer, 'x-plain') === 'stays', answer, 'the headers that do not hold it');
    },
  },
];

function expectNone(answer: Answer, call: UpstreamCall, canary: string): void {
  const names = call.headers.filter(([, value]) => value.includes(canary)).map(([name]) => name);
  expectThat(names.length === 0, answer, `none of these at the upstream: ${names.join(', ')}`);
}
