import { randomBytes } from 'node:crypto';
import { randomToken } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import { expectOk, expectThat } from '../../check/expect.ts';
import type { TicketDeviation } from '../../forge/ticket.ts';
import type { Tools } from '../../check/tools.ts';
import type { Answer } from '../../http/client.ts';
import { header, jsonObject } from '../../http/read-answer.ts';
import { emptyBodies } from '../credential/empty-bodies.ts';
import { GCP, GITHUB, givenMinter } from '../minting/provider.ts';
import {
  setUpProxy,
  calledOnce,
  expectUncalled,
  storeText,
  storeTextOf,
  type ProxySetup,
} from '../../upstream/proxy-setup.ts';

const now = (): number => Math.floor(Date.now() / 1000);

/** A check that every one of these tickets, each with one thing wrong, lets nobody through. */
function ticketsRefused(
  id: string,
  title: string,
  requirements: Check['requirements'],
  variants: (
    proxy: ProxySetup,
    tools: Tools,
  ) => ReadonlyArray<readonly [what: string, deviation: TicketDeviation]>,
): Check {
  return {
    id: `proxy.${id}`,
    title,
    requirements,
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools);
      for (const [what, ticket] of variants(proxy, tools))
        expectUncalled(proxy, await proxy.call({ ticket }), 'TICKET_INVALID', what);
    },
  };
}

/** Whom `POST /v1/proxy` lets through, before it looks at where a call goes (protocol sections 3, 4 and 5.6). */
export const PROXY_ADMISSION_CHECKS: readonly Check[] = [
  ticketsRefused(
    'ticket-method',
    'a proxy ticket without a method, or with another than GET, POST, DELETE and OPTIONS, is refused',
    ['TIX-23', 'TIX-27'],
    (_, { claims }) => [
      ['a ticket without htm', { claims: { htm: undefined } }],
      // With `http-proxy` it depends on the proxy (http-proxy.methods-of-mcp).
      ...[
        ...(claims.has('http-proxy') ? [] : ['PUT', 'PATCH', 'HEAD']),
        'TRACE',
        'CONNECT',
        'get',
        'POST ',
        '',
      ].map((htm) => [`htm ${JSON.stringify(htm)}`, { claims: { htm } }] as const),
      ['a list of methods as htm', { claims: { htm: ['GET'] } }],
    ],
  ),
  ticketsRefused(
    'ticket-proxy',
    'a proxy ticket that names no proxy is refused',
    ['TIX-24', 'TIX-27'],
    () => [
      ['a ticket without prx', { claims: { prx: undefined } }],
      ['prx null', { claims: { prx: null } }],
      ['a list as prx', { claims: { prx: ['prx_a'] } }],
    ],
  ),
  ticketsRefused(
    'ticket-of-another-kind',
    'a credential or store ticket calls nothing through a proxy',
    ['TIX-12'],
    () => [
      ['a credential ticket', { claims: { op: 'credential', gnt: 'grt_1', rfp: 'none' } }],
      ['a store ticket', { claims: { op: 'store' } }],
    ],
  ),
  ticketsRefused(
    'ticket-verified',
    'the ticket of a call is verified like any other: its MAC, header, issuer, audience and times',
    ['TIX-29', 'TIX-04', 'TIX-08', 'TIX-09', 'TIX-16', 'TIX-17', 'TIX-18', 'TIX-31'],
    () => [
      ['a ticket under another key', { secret: randomBytes(32) }],
      ['alg none', { header: { alg: 'none' } }],
      ['typ JWT', { header: { typ: 'JWT' } }],
      ['another service’s ticket', { claims: { iss: 'https://another.example' } }],
      ['another webhook’s ticket', { claims: { aud: 'whk_another' } }],
      ['a ticket that expired 40 seconds ago', { claims: { iat: now() - 90, exp: now() - 40 } }],
      ['a ticket issued 45 seconds ahead', { claims: { iat: now() + 45, exp: now() + 60 } }],
      ['a ticket that would live 61 seconds', { claims: { iat: now(), exp: now() + 61 } }],
    ],
  ),
  {
    id: 'proxy.ticket-late-but-good',
    title: 'a proxy ticket is good for 30 seconds after it expired, since clocks may differ',
    requirements: ['TIX-18'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools);
      const answer = await proxy.call({ ticket: { claims: { iat: now() - 80, exp: now() - 20 } } });
      calledOnce(proxy, answer);
    },
  },
  {
    id: 'proxy.without-ticket',
    title: 'a signed call without a ticket is refused',
    requirements: ['TIX-31'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools);
      for (const body of ['', 'x']) {
        const request = tools.sign({ method: 'POST', path: '/v1/proxy', body });
        const answer = await tools.send(request);
        expectThat(proxy.place.calls.length === 0, answer, 'no call of the upstream without a ticket');
        const refused = [400, 401].includes(answer.status) && jsonObject(answer)?.['code'] !== undefined;
        expectThat(refused, answer, '401 with { error, code } for a call without a ticket');
      }
    },
  },
  {
    id: 'proxy.signed',
    title: 'a call is verified like every signed request: signature, digest, nonce and time',
    requirements: ['SIG-26', 'SIG-45', 'SIG-49', 'SIG-52', 'SIG-54'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools);
      const { proxyId, name } = proxy;
      const sign = (): ReturnType<typeof tools.sign> =>
        tools.sign(
          {
            method: 'POST',
            path: '/v1/proxy',
            headers: [['sv-ticket', tools.ticket('proxy', name, { claims: { prx: proxyId, htm: 'POST' } })]],
            body: 'a body',
          },
          { contentType: 'text/plain' },
        );
      const refused = async (what: string, request: ReturnType<typeof sign>, before = 0): Promise<void> =>
        expectUncalled(proxy, await tools.send(request), 'SIGNATURE_INVALID', what, before);

      const unsigned = sign();
      const headers = (unsigned.headers ?? []).filter(([each]) => !each.startsWith('signature'));
      await refused('a call without a signature', { ...unsigned, headers });
      await refused('another body than the signed one', { ...sign(), body: 'A body' });
      const late = { created: now() - 100, expires: now() - 40 };
      const expired = await proxy.call({ signature: late });
      expectUncalled(proxy, expired, 'SIGNATURE_INVALID', 'a call that expired 40 seconds ago');
      const other = await proxy.call({
        signature: { key: { ...tools.target.key, secret: randomBytes(32) } },
      });
      expectUncalled(proxy, other, 'SIGNATURE_INVALID', 'a call signed with another key');
      const good = sign();
      calledOnce(proxy, await tools.send(good));
      await refused('the same request again', good, 1);
    },
  },
  {
    id: 'proxy.uncovered-ticket',
    title: 'a ticket that the signature does not cover is refused',
    requirements: ['SIG-10', 'SIG-07'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools);
      const components = ['@method', '@authority', '@path', '@query'];
      const bare = await proxy.call({ signature: { components } });
      expectUncalled(proxy, bare, 'SIGNATURE_INVALID', 'a ticket that is not covered');
      const content = [...components, 'content-type', 'content-digest'];
      const withBody = await proxy.call({ body: 'x', signature: { components: content } });
      expectUncalled(proxy, withBody, 'SIGNATURE_INVALID', 'a ticket that is not covered, beside a body');
      const claims = { claims: { prx: proxy.proxyId, htm: 'POST' } };
      const [signedOver, sent] = [0, 1].map(() => tools.ticket('proxy', proxy.name, claims));
      const headers = [['sv-ticket', signedOver ?? '']] as const;
      const request = tools.sign({ method: 'POST', path: '/v1/proxy', headers });
      const swapped = request.headers?.map(([each, value]) =>
        each === 'sv-ticket' ? ([each, sent ?? ''] as const) : ([each, value] as const),
      );
      const answer = await tools.send({ ...request, headers: swapped ?? [] });
      expectUncalled(proxy, answer, 'SIGNATURE_INVALID', 'another ticket than the covered one');
    },
  },
  {
    id: 'proxy.unknown',
    title: 'an unknown proxy, or a record that is not there, is a 404 without a call',
    requirements: ['PRX-18', 'PRX-19'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools);
      const proxyId = `prx_${randomToken(16)}`;
      expectUncalled(proxy, await proxy.call({ proxyId }), 'NOT_FOUND', 'an unknown proxy');
      const nothing = { name: tools.freshName(), value: '' };
      const empty = await setUpProxy(tools, { record: nothing });
      expectUncalled(empty, await empty.call(), 'NOT_FOUND', 'a name that nothing is stored under');
      expectOk(await tools.storage({ op: 'proxies.delete', proxyId: proxy.proxyId }));
      expectUncalled(proxy, await proxy.call(), 'NOT_FOUND', 'a proxy that was deleted');
    },
  },
  {
    id: 'proxy.deleted-record',
    title: 'a record that was deleted is injected no more',
    requirements: ['PRX-18', 'PRX-19'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools, { record: await storeText(tools) });
      calledOnce(proxy, await proxy.call());
      expectOk(await tools.storage({ op: 'tokens.delete', serviceName: proxy.name }));
      expectUncalled(proxy, await proxy.call(), 'NOT_FOUND', 'a record that was deleted', 1);
    },
  },
  {
    id: 'proxy.other-record',
    title: 'a ticket for another record than the one that the proxy uses is refused',
    requirements: ['TIX-39', 'PRX-19'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools);
      const { name: serviceName } = await storeText(tools);
      const answer = await proxy.call({ serviceName });
      expectUncalled(proxy, answer, 'DESTINATION_NOT_ALLOWED', 'a ticket for another record');
    },
  },
  {
    id: 'proxy.empty-record',
    title: 'an empty record is answered with 422 EMPTY_TOKEN, without a call, whatever its type',
    requirements: ['PRX-33', 'PRX-19'],
    claims: ['proxy'],
    run: async (tools) => {
      const { allowedHost } = await tools.given.upstream();
      for (const body of emptyBodies(tools)) {
        const name = await tools.given.record({ ...body, allowedHosts: [allowedHost] });
        const proxy = await setUpProxy(tools, { record: { name, value: '' } });
        expectUncalled(proxy, await proxy.call(), 'EMPTY_TOKEN', `an empty ${body.tokenType}`);
      }
      for (const minter of [GCP, GITHUB].filter(({ claim }) => tools.claims.has(claim))) {
        const settings = { privateKey: '' };
        const record = await givenMinter(tools, minter, {
          settings,
          beside: { allowedHosts: [allowedHost] },
        });
        const proxy = await setUpProxy(tools, { record: { name: record.name, value: '' } });
        const answer = await proxy.call();
        expectUncalled(proxy, answer, 'EMPTY_TOKEN', `an empty key of ${minter.id}`);
        expectThat(record.place.calls.length === 0, answer, 'no call to the provider with an empty key');
      }
    },
  },
  {
    id: 'proxy.too-large',
    title: 'a body above 8 MiB is answered with 413, without a call',
    requirements: ['TRN-19', 'PRX-28'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools);
      const answer = await proxy.call({ body: Buffer.alloc(8 * 1024 * 1024 + 1, 'x') });
      expectUncalled(proxy, answer, 'TOO_LARGE', 'one byte more than 8 MiB');
      expectOrigin(answer, 'a body that is too large');
    },
  },
  {
    id: 'proxy.refusals-say-whose',
    title: 'the webhook’s own refusals carry sv-proxy-origin: webhook',
    requirements: ['PRX-28'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools);
      const closed = await setUpProxy(tools, { record: await tools.given.text() });
      const empty = await setUpProxy(tools, { record: await storeTextOf(tools, '') });
      const unsigned = { method: 'POST', path: '/v1/proxy' };
      const refusals = [
        ['a call without a signature', await tools.send(unsigned)],
        ['a forged ticket', await proxy.call({ ticket: { secret: randomBytes(32) } })],
        ['an unknown proxy', await proxy.call({ proxyId: `prx_${randomToken(16)}` })],
        ['a host that is not allowed', await closed.call()],
        ['an empty record', await empty.call()],
      ] as const;
      for (const [what, answer] of refusals) expectOrigin(answer, what);
    },
  },
];

/** A refusal of the webhook's own says so. */
function expectOrigin(answer: Answer, what: string): void {
  const holds = answer.status >= 400 && header(answer, 'sv-proxy-origin') === 'webhook';
  expectThat(holds, answer, `a refusal with "sv-proxy-origin: webhook" for ${what}`);
}
