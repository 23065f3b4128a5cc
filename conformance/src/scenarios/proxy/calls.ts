import { randomToken } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import { expectThat } from '../../check/expect.ts';
import { setUpProxy, calledOnce, received } from '../../upstream/proxy-setup.ts';

const METHODS = ['GET', 'POST', 'DELETE', 'OPTIONS'] as const;

/** Every byte there is, line ends and what is no UTF-8 among them. */
const ANY_BYTES = Uint8Array.from({ length: 512 }, (_, at) => (at * 7) % 256);
const BODIES: ReadonlyArray<readonly [what: string, contentType: string, body: Uint8Array | string]> = [
  ['bytes of every value', 'application/octet-stream', ANY_BYTES],
  ['JSON with a member twice, spaces and a line end', 'application/json', '{"a":1,  "a": 1.0}\r\n'],
  ['text that is no JSON', 'text/plain; charset=utf-8', ' grüße \u{1F511}\n'],
  ['a JSON list', 'application/json', '[1,2]'],
  ['a form with escapes', 'application/x-www-form-urlencoded', 'a=%7B+&b=%26&a=2'],
];

/** Names of section 5.6, with values that nobody else would send. */
const TRAVELLING: ReadonlyArray<readonly [name: string, value: string]> = [
  ['accept', 'application/json, text/event-stream;q=0.7'],
  ['accept-language', 'de-AT, en;q=0.3'],
  ['content-type', 'application/vnd.conformance+json; profile="a b"'],
  ['user-agent', 'svault-conformance/1 (an agent)'],
  ['mcp-protocol-version', '2025-06-18'],
  ['mcp-session-id', 'session-5f1c'],
  ['last-event-id', '42/7'],
  ['mcp-method', 'tools/call'],
  ['mcp-name', 'a tool'],
  ['mcp-param-region', 'eu; west'],
  ['mcp-param-x', '0'],
  ['traceparent', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'],
  ['tracestate', 'vendor=t61rcWkgMzE'],
];

/** Nothing that a front or a framework acts on by itself. */
const STAYING = [
  ...['authorization', 'proxy-authorization', 'cookie', 'x-agent-key', 'x-mcp-key', 'x-api-key'],
  ...['referer', 'accept-charset', 'if-none-match', 'x-custom', 'x-user-agent', 'baggage'],
  ...['mcp-other', 'mcp-params', 'x-mcp-param-a', 'sv-anything', 'sv-proxy-origin'],
];

/** Protocol section 5.6: what an upstream is sent. */
export const PROXY_CHECKS: readonly Check[] = [
  {
    id: 'proxy.method',
    title: 'the upstream is called with the method that the ticket names',
    requirements: ['PRX-07', 'TIX-23'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools);
      for (const [before, method] of METHODS.entries()) {
        const answer = await proxy.call({ method, ...(method === 'POST' && { body: 'x' }) });
        const call = calledOnce(proxy, answer, before);
        expectThat(call.method === method, answer, `the upstream called with ${method}, not ${call.method}`);
      }
    },
  },
  {
    id: 'proxy.body',
    title: 'the upstream is sent the body byte for byte, whatever it holds',
    requirements: ['PRX-06', 'TRN-18'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools);
      for (const [before, [what, contentType, body]] of BODIES.entries()) {
        const answer = await proxy.call({ body, headers: [['content-type', contentType]] });
        const call = calledOnce(proxy, answer, before);
        expectThat(Buffer.from(body).equals(call.body), answer, `the upstream sent ${what}, byte for byte`);
      }
    },
  },
  {
    id: 'proxy.no-body',
    title: 'the upstream is sent no body where there is none',
    requirements: ['PRX-06'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools);
      for (const [before, method] of (['GET', 'POST', 'DELETE'] as const).entries()) {
        const answer = await proxy.call({ method });
        const { body } = calledOnce(proxy, answer, before);
        expectThat(body.byteLength === 0, answer, `no body, not ${body.byteLength} bytes, with ${method}`);
      }
    },
  },
  {
    id: 'proxy.body-with-any-method',
    title: 'a body goes along with DELETE and OPTIONS too, which stay what they are',
    requirements: ['PRX-06', 'PRX-07'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools);
      for (const [before, method] of (['DELETE', 'OPTIONS'] as const).entries()) {
        const answer = await proxy.call({ method, body: 'what it is about' });
        const call = calledOnce(proxy, answer, before);
        const sent = Buffer.from(call.body).toString();
        expectThat(sent === 'what it is about', answer, `the upstream sent the body with ${method}`);
        expectThat(call.method === method, answer, `${method} at the upstream, not ${call.method}`);
      }
    },
  },
  {
    id: 'proxy.large-body',
    title: 'a body of 8 MiB is accepted and sent on',
    requirements: ['TRN-20', 'PRX-06'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools);
      const body = Buffer.alloc(8 * 1024 * 1024, 'eight mebibytes of words ');
      const answer = await proxy.call({ body });
      expectThat(body.equals(calledOnce(proxy, answer).body), answer, 'the upstream sent all 8 MiB');
    },
  },
  {
    id: 'proxy.headers-that-travel',
    title: 'the headers of an agent that travel reach the upstream as they are',
    requirements: ['PRX-03', 'TRN-18'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools);
      const answer = await proxy.call({ headers: TRAVELLING, body: '{}' });
      const call = calledOnce(proxy, answer);
      for (const [name, value] of TRAVELLING) {
        const values = received(call, name);
        const said = values.length === 1 && values[0] === value;
        expectThat(said, answer, `the upstream sent "${name}: ${value}", not ${JSON.stringify(values)}`);
      }
    },
  },
  {
    id: 'proxy.headers-that-stay',
    title: 'no other header of a request reaches the upstream, the ticket and the signature included',
    requirements: ['PRX-03'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools, { headerTemplates: { 'x-other': 'constant' } });
      const canary = `stray-${randomToken()}`;
      const address = '203.0.113.77';
      const headers = [
        ...STAYING.map((name) => [name, canary] as const),
        ['x-forwarded-for', address] as const,
      ];
      const answer = await proxy.call({ headers, body: 'x' });
      const call = calledOnce(proxy, answer);
      const ours = ['sv-ticket', 'signature', 'signature-input', 'content-digest'];
      const sent = answer.sent.headers.filter(([name]) => ours.includes(name)).map(([, value]) => value);
      const strays = call.headers.filter(
        ([name, value]) =>
          name === 'sv-ticket' || value.includes(canary) || value.includes(address) || sent.includes(value),
      );
      const names = strays.map(([name]) => name).join(', ');
      expectThat(strays.length === 0, answer, `none of these at the upstream: ${names}`);
    },
  },
  {
    id: 'proxy.asks-for-identity',
    title: 'the upstream is asked for an answer that is not compressed, whatever the request says',
    requirements: ['PRX-04'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools);
      for (const [before, asked] of ([[], [['accept-encoding', 'gzip, br']]] as const).entries()) {
        const answer = await proxy.call({ headers: asked });
        const values = received(calledOnce(proxy, answer, before), 'accept-encoding');
        const holds = values.length === 1 && values[0]?.trim().toLowerCase() === 'identity';
        expectThat(
          holds,
          answer,
          `"accept-encoding: identity" at the upstream, not ${JSON.stringify(values)}`,
        );
      }
    },
  },
  {
    id: 'proxy.stored-address',
    title: 'the upstream’s address is the stored one with its path and its query, whatever a request says',
    requirements: ['PRX-05', 'TRU-01'],
    claims: ['proxy'],
    run: async (tools) => {
      const rest = '/v1/a%20b%3Fc/messages?beta=true&x=a%20b&x=%2F';
      const proxy = await setUpProxy(tools, { rest });
      const elsewhere = (await tools.given.upstream()).open();
      const answer = await proxy.call({
        headers: [
          ['x-original-url', elsewhere.url],
          ['x-rewrite-url', '/other'],
          ['sv-upstream-url', elsewhere.url],
        ],
        ticket: { claims: { upstreamUrl: elsewhere.url, url: elsewhere.url, path: '/other', query: '?y=1' } },
      });
      expectThat(elsewhere.calls.length === 0, answer, 'no call of an address that a ticket or header names');
      const call = calledOnce(proxy, answer);
      expectThat(call.rest === rest, answer, `the upstream called at ${rest}, not ${call.rest}`);
    },
  },
  {
    id: 'proxy.newest-configuration',
    title: 'a call uses the configuration as it was stored last',
    requirements: ['PRX-05'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools);
      calledOnce(proxy, await proxy.call());
      const place = (await tools.given.upstream()).open();
      const { proxyId, name: serviceName, value } = proxy;
      const headerTemplates = { 'x-api-key': '${TOKEN}' };
      const op = { op: 'proxies.put', proxyId, serviceName, upstreamUrl: place.url, headerTemplates };
      await tools.storage(op);
      const answer = await proxy.call();
      expectThat(proxy.place.calls.length === 1, answer, 'no call of the address that was replaced');
      const call = calledOnce({ place }, answer);
      const holds = received(call, 'x-api-key')[0] === value && received(call, 'authorization').length === 0;
      expectThat(holds, answer, 'the templates that were stored last, and none of those before');
    },
  },
  {
    id: 'proxy.host',
    title: 'the Host that the upstream sees is that of its own address',
    requirements: ['PRX-22'],
    claims: ['proxy'],
    run: async (tools) => {
      const { direct } = await tools.given.upstream();
      const proxy = await setUpProxy(tools);
      const { host: named } = new URL(proxy.place.url);
      const answer = await proxy.call({ headers: [['x-forwarded-host', 'another.example']] });
      const hosts = received(calledOnce(proxy, answer), 'host');
      // Whatever stands in front of the suite may have a name of its own for it.
      const webhook = new URL(tools.target.webhookUrl).host;
      const holds = direct
        ? hosts.length === 1 && hosts[0] === named
        : hosts.every((host) => host !== 'another.example' && (host !== webhook || host === named));
      expectThat(holds, answer, `"host: ${named}" at the upstream, not ${JSON.stringify(hosts)}`);
    },
  },
  {
    id: 'proxy.template-replaces',
    title: 'a template replaces the agent’s header of the same name, whatever its letter case',
    requirements: ['PRX-21', 'PRX-20'],
    claims: ['proxy'],
    run: async (tools) => {
      const headerTemplates = { 'USER-Agent': "the template's", Accept: 'text/html' };
      const proxy = await setUpProxy(tools, { headerTemplates });
      const headers = [
        ['User-Agent', 'the agent'],
        ['accept', 'application/json'],
        ['accept-language', 'de'],
      ] as const;
      const answer = await proxy.call({ headers });
      const call = calledOnce(proxy, answer);
      const [agents, accepts] = [received(call, 'user-agent'), received(call, 'accept')];
      const holds = agents.join('|') === "the template's" && accepts.join('|') === 'text/html';
      expectThat(holds, answer, `the template's alone, not ${JSON.stringify({ agents, accepts })}`);
      const isLeft = received(call, 'accept-language').join('|') === 'de';
      expectThat(isLeft, answer, 'the agent’s accept-language, which no template names');
    },
  },
];
