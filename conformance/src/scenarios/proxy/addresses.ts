import { allowedHostFor } from '@svault/shared/schemas';
import type { Check } from '../../check/check.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { Answer } from '../../http/client.ts';
import { header, jsonObject } from '../../http/read-answer.ts';
import type { Tools } from '../../check/tools.ts';
import { setUpProxy, calledOnce, expectUncalled, proxiesTo, storeText } from '../../upstream/proxy-setup.ts';
import { reachable } from '../../upstream/reachable.ts';

/** 0.0.0.0 and its like first: a connection there is refused at once. */
const V4 = [
  ...['0.0.0.0', '169.254.169.254', '10.0.0.1', '172.16.0.1', '172.31.255.254', '192.168.0.1'],
  ...['100.127.255.254', '192.0.0.1', '198.19.255.254', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
  '203.0.113.1',
];
const V6 = [
  ...['[::]', '[fe80::1]', '[fd12::1]', '[fec0::1]', '[ff02::1]', '[2001:db8::1]', '[64:ff9b::a00:1]'],
  ...['[64:ff9b:1::1]', '[2002:a00:1::]', '[2001::1]', '[::a00:1]'],
];
const MAPPED = ['[::ffff:0.0.0.0]', '[::ffff:a9fe:a9fe]', '[::ffff:10.0.0.1]', '[0:0:0:0:0:ffff:c0a8:1]'];
/** 0.0.0.0, which leads to the suite's own upstream where a webhook on the same machine connects to it. */
const UNSPECIFIED = ['0', '0x0', '00.00.00.00', '0.0', '[0:0:0:0:0:0:0:0]'];
/** 169.254.169.254 and 10.0.0.1. */
const NUMBERS = ['2852039166', '0xa9fea9fe', '0251.0376.0251.0376', '012.0.0.1'];

/** Proxies to these URLs for a record that may go to all of them, and by https anywhere. */
async function configured(tools: Tools, urls: readonly string[]): ReturnType<typeof proxiesTo> {
  await reachable(tools);
  const { allowedHost } = await tools.given.upstream();
  const plain = urls.filter((url) => url.startsWith('http://')).map((url) => allowedHostFor(new URL(url)));
  const { name } = await storeText(tools, { allowedHosts: [...new Set(['*', allowedHost, ...plain])] });
  return proxiesTo(tools, name, urls);
}

/** A check that no proxy leads to any of these hosts, whatever the owner allowed. */
function refusedHosts(
  id: string,
  title: string,
  requirements: Check['requirements'],
  hosts: readonly string[],
): Check {
  return {
    id: `address.${id}`,
    title,
    requirements,
    claims: ['proxy'],
    run: async (tools) => {
      const urls = hosts.map((host) => `https://${host}/`);
      for (const { url, call } of await configured(tools, urls))
        expectRefusal(await call(), 'DESTINATION_NOT_ALLOWED', url);
    },
  };
}

/** A check that nothing answers through a proxy at any of these URLs, however the webhook comes to that. */
function neverAnswered(
  id: string,
  title: string,
  requirements: Check['requirements'],
  urls: (place: URL) => readonly string[],
): Check {
  return {
    id: `address.${id}`,
    title,
    requirements,
    claims: ['proxy'],
    run: async (tools) => {
      const place = (await tools.given.upstream()).open();
      for (const { url, call } of await configured(tools, urls(new URL(place.url)))) {
        const answer = await call();
        expectThat(place.calls.length === 0 && isOwnRefusal(answer), answer, `no call of ${url}`);
      }
    },
  };
}

/** Refused, or tried in vain: a name that is no address may just as well be one that does not resolve. */
function isOwnRefusal(answer: Answer): boolean {
  const code = jsonObject(answer)?.['code'];
  const origin = header(answer, 'sv-proxy-origin');
  return origin !== 'upstream' && (code === 'DESTINATION_NOT_ALLOWED' || code === 'UPSTREAM_ERROR');
}

/** Protocol section 6, as it shows on `/v1/proxy`. The loopback is left alone: it is where tests are run. */
export const ADDRESS_CHECKS: readonly Check[] = [
  refusedHosts(
    'not-public',
    'an IPv4 address that is not public is refused: link-local, private, shared, reserved, multicast',
    ['ADR-02', 'PRX-16'],
    V4,
  ),
  refusedHosts(
    'not-public-v6',
    'an IPv6 address that is not public is refused, and one that carries an IPv4 address',
    ['ADR-02', 'PRX-16'],
    V6,
  ),
  refusedHosts('mapped', 'the IPv4-mapped form of such an address is refused', ['ADR-03'], MAPPED),
  neverAnswered(
    'notations',
    'an address is checked in whatever notation it is written: decimal, octal, hexadecimal, short',
    ['ADR-04'],
    (place) => [
      ...UNSPECIFIED.map((host) => `http://${host}${place.port && `:${place.port}`}${place.pathname}`),
      ...NUMBERS.map((host) => `https://${host}/`),
    ],
  ),
  neverAnswered(
    'userinfo',
    'an upstream URL with credentials in it is not called',
    ['ADR-07', 'STO-23'],
    (place) =>
      ['user:pass@', 'user@', ':pass@'].map(
        (each) => `${place.protocol}//${each}${place.host}${place.pathname}`,
      ),
  ),
  neverAnswered(
    'other-schemes',
    'an upstream URL of another scheme than https, or http where that is allowed, is not called',
    ['ADR-08'],
    (place) => [
      'file:///etc/hostname',
      ...['ftp', 'ws', 'gopher'].map((scheme) => `${scheme}://${place.host}${place.pathname}`),
      'data:text/plain,called',
    ],
  ),
  {
    id: 'address.redirects',
    title: 'a redirect of the upstream comes back as it is and is not followed',
    requirements: ['PRX-23', 'ADR-05'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools);
      const target = (await tools.given.upstream()).open();
      const location = `${target.url}/landed?x=1`;
      for (const [at, status] of [301, 302, 303, 307, 308].entries()) {
        proxy.place.answerWith((response) => response.writeHead(status, { location }).end('moved'));
        const answer = await proxy.call({ method: at % 2 === 0 ? 'GET' : 'POST' });
        expectThat(target.calls.length === 0, answer, `the target of a ${status} left alone`);
        calledOnce(proxy, answer, at);
        const back = answer.status === status && header(answer, 'location') === location;
        expectThat(back, answer, `the upstream's ${status} with its location`);
      }
    },
  },
  {
    id: 'address.forbidden-templates',
    title: 'no template sets a header that decides how a message travels',
    requirements: ['PRX-14', 'PRX-15', 'PRX-20'],
    claims: ['proxy'],
    run: async (tools) => {
      const { name: serviceName } = await setUpProxy(tools);
      const place = (await tools.given.upstream()).open();
      const ids = FORBIDDEN_TEMPLATES.map(() => tools.freshProxyId());
      const batch = FORBIDDEN_TEMPLATES.map((name, at) => ({
        op: 'proxies.put',
        proxyId: ids[at],
        serviceName,
        upstreamUrl: place.url,
        headerTemplates: { authorization: '${TOKEN}', [name]: '1' },
      }));
      const answer = await tools.storage({ batch });
      const { results } = expectOk(answer);
      for (const [at, name] of FORBIDDEN_TEMPLATES.entries()) {
        const result: unknown = Array.isArray(results) ? results[at] : undefined;
        expectThat(typeof result === 'object' && result !== null, answer, 'a result for each operation');
        if (!('proxyId' in result)) continue;
        // It was taken (STO-24 is another check's); then at least it must not be used.
        const called = await tools.proxied({ proxyId: ids[at] ?? '', serviceName });
        const what = `a template for ${JSON.stringify(name)}`;
        expectUncalled({ place }, called, 'DESTINATION_NOT_ALLOWED', what);
      }
    },
  },
];

const FORBIDDEN_TEMPLATES = [
  ...['host', 'Host', 'content-length', 'transfer-encoding', 'Connection', 'keep-alive', 'TE', 'trailer'],
  ...['upgrade', 'expect', 'via', 'Forwarded', 'x-forwarded-for', 'X-Forwarded-Host', 'x-forwarded-port'],
  ...['proxy-authorization', 'Proxy-Connection', 'sv-ticket', 'SV-Anything', 'a b', 'a:b', 'x\r\ny', ''],
];
