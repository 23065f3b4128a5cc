import type { Check } from '../../check/check.ts';
import { expectRefusal, expectThat } from '../../check/expect.ts';
import type { Answer } from '../../http/client.ts';
import { header } from '../../http/read-answer.ts';
import { answerJson } from '../../provider/provider.ts';
import type { Tools } from '../../check/tools.ts';
import type { Place } from '../../upstream/upstream.ts';
import {
  expectAsked,
  fetchToken,
  givenRefreshable,
  mediatedProvider,
  type Refreshable,
} from '../refresh/refreshable.ts';

interface Proxied extends Refreshable {
  readonly proxyId: string;
  readonly place: Place;
}

/** A token that is to be injected at a place of its own, and has expired. */
async function givenProxied(tools: Tools, options: Parameters<typeof givenRefreshable>[1]): Promise<Proxied> {
  const upstream = await tools.given.upstream();
  const place = upstream.open();
  const beside = { allowedHosts: [upstream.allowedHost] };
  const record = await givenRefreshable(tools, { ...options, beside });
  const proxyId = await tools.given.proxy({
    serviceName: record.name,
    upstreamUrl: place.url,
    headerTemplates: { authorization: 'Bearer ${TOKEN}' },
  });
  return { ...record, proxyId, place };
}

const call = (tools: Tools, { proxyId, name }: Proxied): Promise<Answer> =>
  tools.proxied({ proxyId, serviceName: name, body: '{}', headers: [['content-type', 'application/json']] });

function expectWebhooksOwn(answer: Answer, { place }: Proxied): void {
  expectThat(place.calls.length === 0, answer, 'no call to the upstream');
  expectThat(header(answer, 'sv-proxy-origin') === 'webhook', answer, 'sv-proxy-origin: webhook');
}

/** Protocol section 5.6: what happens to an expired token before it is injected. */
export const PROXIED_REFRESH_CHECKS: readonly Check[] = [
  {
    id: 'refresh.before-proxied-call',
    title: 'an expired token is refreshed before it is injected',
    requirements: ['PRX-09'],
    claims: ['proxy', 'store', 'storage', 'refresh-notify'],
    run: async (tools) => {
      const proxied = await givenProxied(tools, {});
      const answer = await call(tools, proxied);
      expectAsked(answer, proxied.provider, 1);
      const [injected] = proxied.place.calls.map(
        ({ headers }) => headers.find(([name]) => name === 'authorization')?.[1],
      );
      expectThat(
        injected === `Bearer ${proxied.provider.accessTokens.at(-1)}`,
        answer,
        'one call to the upstream, with the token that the provider gave',
      );
    },
  },
  {
    id: 'refresh.failed-before-proxied-call',
    title: 'where an expired token cannot be refreshed the upstream is not called',
    requirements: ['PRX-33', 'CRE-14'],
    claims: ['proxy', 'store', 'storage', 'refresh-notify'],
    run: async (tools) => {
      for (const [status, error, code] of [
        [500, 'server_error', 'PROVIDER_ERROR'],
        [400, 'invalid_grant', 'REAUTH_NEEDED'],
      ] as const) {
        const proxied = await givenProxied(tools, {});
        proxied.provider.answerWith(answerJson(status, { error }));
        const answer = await call(tools, proxied);
        expectAsked(answer, proxied.provider);
        expectRefusal(answer, code);
        expectWebhooksOwn(answer, proxied);
      }
    },
  },
  {
    id: 'lease.proxied-call-mediated',
    title: 'an expired token that only the service can refresh is not injected: 409 REFRESH_NEEDED',
    requirements: ['PRX-10'],
    claims: ['proxy', 'store', 'storage', 'sv-refresh'],
    run: async (tools) => {
      const proxied = await givenProxied(tools, { sealed: mediatedProvider });
      const answer = await call(tools, proxied);
      expectRefusal(answer, 'REFRESH_NEEDED');
      expectWebhooksOwn(answer, proxied);
      expectAsked(answer, proxied.provider, 0);
    },
  },
  {
    id: 'lease.fetch-mediated',
    title:
      'an expired token that only the service can refresh is answered with 409 REFRESH_NEEDED, Retry-After 5',
    requirements: ['CRE-13'],
    claims: ['credential', 'store', 'sv-refresh'],
    run: async (tools) => {
      for (const rfp of ['none', 'auto']) {
        const record = await givenRefreshable(tools, { sealed: mediatedProvider });
        const answer = await fetchToken(tools, record, { claims: { rfp } });
        expectRefusal(answer, 'REFRESH_NEEDED');
        expectThat(header(answer, 'retry-after') === '5', answer, 'Retry-After: 5');
        expectAsked(answer, record.provider, 0);
      }
    },
  },
];
