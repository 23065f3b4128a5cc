import type { Check } from '../../check/check.ts';
import { expectThat } from '../../check/expect.ts';
import { CheckSkipped, NotTestable } from '../../check/outcome.ts';
import type { ProxiedCall, Tools } from '../../check/tools.ts';
import type { Answer } from '../../http/client.ts';
import type { Place } from '../../upstream/upstream.ts';
import { GCP, GITHUB, givenMinter, expectAsked as expectMinted } from '../minting/provider.ts';
import { expectAsked, givenRefreshable } from '../refresh/refreshable.ts';
import { expectAllowed, expectDenied } from './ruled-record.ts';

/** A place whose path `/open` is allowed, and a way to call what is behind it with a record that is not there yet. */
async function givenPlace(tools: Tools): Promise<{
  readonly place: Place;
  readonly settings: Readonly<Record<string, unknown>>;
  call(serviceName: string, rest: string): Promise<(how?: Partial<ProxiedCall>) => Promise<Answer>>;
}> {
  const upstream = await tools.given.upstream();
  const place = upstream.open();
  const paths = [`${new URL(place.url).pathname}/open`];
  return {
    place,
    settings: { allowedHosts: [upstream.allowedHost], requests: [{ methods: ['POST'], paths }] },
    call: async (serviceName, rest) => {
      const headerTemplates = { authorization: 'Bearer ${TOKEN}' };
      const upstreamUrl = place.url + rest;
      const proxyId = await tools.given.proxy({ serviceName, upstreamUrl, headerTemplates });
      return (how) => tools.proxied({ proxyId, serviceName, ...how });
    },
  };
}

/** Protocol section 5.7: rules, and a credential that has to be made or refreshed first. */
export const REQUEST_RULE_REFRESH_CHECKS: readonly Check[] = [
  {
    id: 'request-rules.before-refresh',
    title:
      'an expired token is not refreshed for a request that no rule allows, and rules hold after a refresh',
    requirements: ['RUL-05', 'RUL-01'],
    claims: ['proxy', 'store', 'storage', 'refresh-notify', 'request-rules'],
    run: async (tools) => {
      const { place, settings, call } = await givenPlace(tools);
      const { name, provider } = await givenRefreshable(tools, { beside: settings });
      const [open, closed] = [await call(name, '/open'), await call(name, '/closed')];
      const denied = await expectDenied(
        { place },
        closed,
        'a path that is not allowed, with an expired token',
      );
      expectThat(provider.calls.length === 0, denied, 'no call of the provider for a request that is denied');
      const answer = await expectAllowed({ place }, open, 'a path that is allowed, with an expired token');
      expectAsked(answer, provider, 1);
      await expectDenied({ place }, closed, 'a path that is not allowed, after a refresh');
    },
  },
  {
    id: 'request-rules.before-minting',
    title: 'nothing is minted for a request that no rule allows',
    requirements: ['RUL-05'],
    claims: ['proxy', 'store', 'storage', 'request-rules'],
    run: async (tools) => {
      const minter = [GCP, GITHUB].find(({ claim }) => tools.claims.has(claim));
      if (minter === undefined) throw new CheckSkipped('the webhook claims neither gcp nor github-app');
      const { place, settings, call } = await givenPlace(tools);
      const record = await givenMinter(tools, minter, { beside: settings });
      const [open, closed] = [await call(record.name, '/open'), await call(record.name, '/closed')];
      const denied = await expectDenied({ place }, closed, 'a path that is not allowed');
      const uncalled = record.place.calls.length === 0;
      expectThat(uncalled, denied, 'no call of the provider for a request that is denied');
      const answer = await open();
      expectMinted(record, answer);
      if (place.calls.length === 0) throw new NotTestable('what was minted was not injected', answer);
    },
  },
];
