import type { Check } from '../../check/check.ts';
import { expectOk, expectThat } from '../../check/expect.ts';
import type { Answer } from '../../http/client.ts';
import { jsonObject } from '../../http/read-answer.ts';
import type { Tools } from '../../check/tools.ts';
import { setUpProxy, calledOnce, expectUncalled, storeText, received } from '../../upstream/proxy-setup.ts';
import { reachable } from '../../upstream/reachable.ts';
import { CALLED_ADDRESS_CHECKS } from './called-addresses.ts';
import { ELSEWHERE, hostOf } from './own-host.ts';
import type { Place } from '../../upstream/upstream.ts';

/** A proxy to the suite's upstream by another scheme: by https nothing answers where the upstream speaks plain http. */
async function byScheme(
  tools: Tools,
  scheme: 'https:' | 'http:',
  allowedHosts: readonly string[],
): Promise<{ readonly place: Place; call(): Promise<Answer> }> {
  const { name: serviceName } = await storeText(tools, { allowedHosts });
  const place = (await tools.given.upstream()).open();
  const upstreamUrl = place.url.replace(/^https?:/, scheme);
  const headerTemplates = { authorization: 'Bearer ${TOKEN}' };
  const proxyId = await tools.given.proxy({ serviceName, upstreamUrl, headerTemplates });
  return { place, call: () => tools.proxied({ proxyId, serviceName }) };
}

/** That https was allowed: the upstream was called, or a connection was tried that came to nothing. */
function expectTried(place: Place, answer: Answer, what: string): void {
  const code = jsonObject(answer)?.['code'];
  const failed = answer.status === 502 && code === 'UPSTREAM_ERROR';
  expectThat(place.calls.length > 0 || failed, answer, `a call by https, or 502 UPSTREAM_ERROR, for ${what}`);
}

/**
 * A check that records with these `allowedHosts` are not injected at the suite's own upstream. An entry that is not
 * taken in the first place opens nothing either.
 */
function notAllowed(
  id: string,
  title: string,
  requirements: Check['requirements'],
  variants: (tools: Tools) => Promise<ReadonlyArray<readonly string[]>>,
): Check {
  return {
    id: `destination.${id}`,
    title,
    requirements,
    claims: ['proxy'],
    run: async (tools) => {
      await reachable(tools);
      const name = tools.freshName();
      const proxy = await setUpProxy(tools, { record: { name, value: 'a-canary-of-destinations' } });
      for (const allowedHosts of await variants(tools)) {
        const stored = await tools.store(name, {
          tokenType: 'PlainText',
          value: 'a-canary-of-destinations',
          allowedHosts,
        });
        if (stored.status === 400) continue;
        expectOk(stored);
        const what = `allowedHosts ${JSON.stringify(allowedHosts)}`;
        expectUncalled(proxy, await proxy.call(), 'DESTINATION_NOT_ALLOWED', what);
      }
    },
  };
}

/** A check that records with these `allowedHosts` are injected at the suite's own upstream. */
function allowed(
  id: string,
  title: string,
  requirements: Check['requirements'],
  variants: (entry: string) => ReadonlyArray<readonly string[]>,
): Check {
  return {
    id: `destination.${id}`,
    title,
    requirements,
    claims: ['proxy'],
    run: async (tools) => {
      const { entry } = await hostOf(tools);
      for (const allowedHosts of variants(entry)) {
        const proxy = await setUpProxy(tools, { record: await storeText(tools, { allowedHosts }) });
        const answer = await proxy.call();
        const [sent] = received(calledOnce(proxy, answer), 'authorization');
        const what = `allowedHosts ${JSON.stringify(allowedHosts)}`;
        expectThat(sent === `Bearer ${proxy.value}`, answer, `the credential at the upstream, with ${what}`);
      }
    },
  };
}

/** Protocol sections 5.5 and 5.6: the hosts that a record may be sent to. */
export const DESTINATION_CHECKS: readonly Check[] = [
  ...CALLED_ADDRESS_CHECKS,
  {
    id: 'destination.no-hosts',
    title: 'a record without allowedHosts is injected nowhere',
    requirements: ['SAV-17', 'PRX-08', 'PRX-19'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools, { record: await tools.given.text() });
      const what = 'a record without allowedHosts';
      expectUncalled(proxy, await proxy.call(), 'DESTINATION_NOT_ALLOWED', what);
    },
  },
  notAllowed(
    'other-host',
    'a record is not injected at a host that its owner did not name',
    ['PRX-08', 'PRX-19'],
    async (tools) => {
      const { scheme, port } = await hostOf(tools);
      const other = scheme + ELSEWHERE;
      const entries = port === undefined ? [other] : [other, `${other}:${port}`];
      return [...entries.map((entry) => [entry]), entries, []];
    },
  ),
  allowed(
    'one-of-several',
    'each of several allowed hosts is allowed, wherever it stands',
    ['PRX-08', 'SAV-14'],
    (entry) => [
      [ELSEWHERE, `${ELSEWHERE}:8443`, `http://${ELSEWHERE}`, entry],
      [entry, ELSEWHERE],
    ],
  ),
  {
    id: 'destination.scheme',
    title: 'an entry means https, unless it begins with http:// and means plain http',
    requirements: ['SAV-34', 'PRX-08', 'PRX-19'],
    claims: ['proxy'],
    run: async (tools) => {
      await reachable(tools);
      const { host, port } = await hostOf(tools);
      const entry = port === undefined ? host : `${host}:${port}`;
      for (const [named, other] of [
        [entry, 'http:'],
        [`http://${entry}`, 'https:'],
      ] as const) {
        const what = `${other}// with allowedHosts ${JSON.stringify([named])}`;
        const refused = await byScheme(tools, other, [named]);
        expectUncalled(refused, await refused.call(), 'DESTINATION_NOT_ALLOWED', what);
      }
      const tried = await byScheme(tools, 'https:', [entry]);
      expectTried(tried.place, await tried.call(), `allowedHosts ${JSON.stringify([entry])}`);
    },
  },
  {
    id: 'destination.any-host',
    title: 'an allowed "*" is every host and port by https, and none by plain http',
    requirements: ['SAV-11', 'SAV-35', 'PRX-08'],
    claims: ['proxy'],
    run: async (tools) => {
      await reachable(tools);
      for (const allowedHosts of [['*'], [ELSEWHERE, '*']]) {
        const what = `allowedHosts ${JSON.stringify(allowedHosts)}`;
        const plain = await byScheme(tools, 'http:', allowedHosts);
        expectUncalled(plain, await plain.call(), 'DESTINATION_NOT_ALLOWED', `plain http with ${what}`);
        const tried = await byScheme(tools, 'https:', allowedHosts);
        expectTried(tried.place, await tried.call(), what);
      }
    },
  },
];
