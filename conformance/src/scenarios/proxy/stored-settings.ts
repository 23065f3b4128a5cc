import { ELSEWHERE, hostOf } from './own-host.ts';
import type { Check } from '../../check/check.ts';
import { expectOk, expectThat } from '../../check/expect.ts';
import type { Tools } from '../../check/tools.ts';
import {
  setUpProxy,
  calledOnce,
  expectUncalled,
  storeText,
  received,
  type ProxySetup,
} from '../../upstream/proxy-setup.ts';
import { reachable } from '../../upstream/reachable.ts';

async function withTemplates(
  tools: Tools,
  headerTemplates: Readonly<Record<string, string>>,
  allowedHeaders?: readonly string[],
): Promise<ProxySetup> {
  const record = await storeText(tools, allowedHeaders && { allowedHeaders });
  return setUpProxy(tools, { record, headerTemplates });
}

/** Protocol sections 5.5 and 5.6: only what the owner stored with a record says where it may go, and in which header. */
export const STORED_SETTINGS_CHECKS: readonly Check[] = [
  {
    id: 'destination.sealed-settings',
    title: 'neither a ticket nor a request can widen where a record goes',
    requirements: ['TRU-01', 'PRX-08'],
    claims: ['proxy'],
    run: async (tools) => {
      const { entry } = await hostOf(tools);
      const proxy = await setUpProxy(tools, {
        record: await storeText(tools, { allowedHosts: [ELSEWHERE] }),
      });
      const words = { allowedHosts: [entry, '*'], allowedHeaders: ['authorization'], delivery: 'any' };
      const claims = { ...words, hosts: ['*'], host: entry, aud_hosts: ['*'] };
      const inTicket = await proxy.call({ ticket: { claims } });
      expectUncalled(proxy, inTicket, 'DESTINATION_NOT_ALLOWED', 'a ticket that names allowedHosts');
      const headers = ['sv-allowed-hosts', 'x-allowed-hosts'].map((each) => [each, entry] as const);
      const inHeaders = await proxy.call({ headers, body: JSON.stringify(words) });
      expectUncalled(proxy, inHeaders, 'DESTINATION_NOT_ALLOWED', 'a request that names allowedHosts');
    },
  },
  {
    id: 'destination.moved-configuration',
    title: 'a configuration that is moved to another host does not take the record along',
    requirements: ['PRX-08', 'TRU-01'],
    claims: ['proxy'],
    run: async (tools) => {
      await reachable(tools);
      const { name: serviceName } = await storeText(tools, { allowedHosts: [ELSEWHERE] });
      const place = (await tools.given.upstream()).open();
      const headerTemplates = { authorization: '${TOKEN}' };
      const config = { serviceName, upstreamUrl: `https://${ELSEWHERE}/`, headerTemplates };
      const proxyId = await tools.given.proxy(config);
      const moved = await tools.storage({ op: 'proxies.put', proxyId, ...config, upstreamUrl: place.url });
      // A webhook that refuses it here has not moved it.
      if (moved.status >= 400) return;
      const answer = await tools.proxied({ proxyId, serviceName });
      expectUncalled({ place }, answer, 'DESTINATION_NOT_ALLOWED', 'a configuration that was moved');
    },
  },
  {
    id: 'destination.narrowed-record',
    title: 'a record that is stored anew for other hosts is injected there only',
    requirements: ['PRX-08', 'SAV-03'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools, { record: await storeText(tools) });
      calledOnce(proxy, await proxy.call());
      const settings = [
        ['other allowedHosts', { allowedHosts: [ELSEWHERE] }],
        ['no allowedHosts', {}],
      ] as const;
      for (const [what, each] of settings) {
        expectOk(await tools.store(proxy.name, { tokenType: 'PlainText', value: proxy.value, ...each }));
        const answer = await proxy.call();
        expectUncalled(proxy, answer, 'DESTINATION_NOT_ALLOWED', `a record stored anew with ${what}`, 1);
      }
    },
  },
  {
    id: 'destination.other-header',
    title: 'a marker in a header outside allowedHeaders is refused, in whichever template and spelling',
    requirements: ['PRX-12', 'PRX-19'],
    claims: ['proxy'],
    run: async (tools) => {
      const templates = [
        { 'x-other': '${TOKEN}' },
        { 'x-other': '$<TOKEN>' },
        { authorization: 'Bearer ${TOKEN}', 'x-other': 'a=${TOKEN};b' },
        { 'x-other': 'a $<TOKEN>', authorization: 'Bearer ${TOKEN}' },
        { 'x-api-keys': '${TOKEN}' },
        { cookie: 'session=${TOKEN}' },
      ];
      for (const headerTemplates of templates) {
        const proxy = await setUpProxy(tools, { headerTemplates });
        const what = `the templates ${JSON.stringify(headerTemplates)}`;
        expectUncalled(proxy, await proxy.call(), 'DESTINATION_NOT_ALLOWED', what);
      }
    },
  },
  {
    id: 'destination.own-headers',
    title: 'allowedHeaders stands in the place of the default: its headers are allowed and no others',
    requirements: ['PRX-12', 'SAV-18'],
    claims: ['proxy'],
    run: async (tools) => {
      const own = ['x-secret', 'X-Second'];
      const open = await withTemplates(tools, { 'x-secret': '${TOKEN}', 'x-second': '${TOKEN}' }, own);
      const answer = await open.call();
      const call = calledOnce(open, answer);
      const both = ['x-secret', 'x-second'].every((name) => received(call, name)[0] === open.value);
      expectThat(both, answer, 'the credential in both headers that the record allows');
      const closed = await withTemplates(tools, { authorization: '${TOKEN}' }, own);
      const what = 'authorization, where allowedHeaders names others';
      expectUncalled(closed, await closed.call(), 'DESTINATION_NOT_ALLOWED', what);
    },
  },
  {
    id: 'destination.default-headers',
    title: 'authorization and x-api-key are allowed where allowedHeaders is absent, in any letter case',
    requirements: ['SAV-18', 'PRX-20'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools, {
        headerTemplates: { AUTHORIZATION: '${TOKEN}', 'X-Api-Key': '${TOKEN}' },
      });
      const answer = await proxy.call();
      const call = calledOnce(proxy, answer);
      const both = ['authorization', 'x-api-key'].every((name) => received(call, name)[0] === proxy.value);
      expectThat(both, answer, 'the credential in both headers');
    },
  },
  {
    id: 'destination.almost-markers',
    title: 'what is almost a marker puts no credential into a header outside allowedHeaders',
    requirements: ['PRX-12', 'PRX-13'],
    claims: ['proxy'],
    run: async (tools) => {
      const almost = ['${token}', '$<Token>', '${ TOKEN }', '$TOKEN', '$(TOKEN)', '{TOKEN}', '%TOKEN%'];
      const headerTemplates = Object.fromEntries(almost.map((each, at) => [`x-almost-${at}`, each]));
      const proxy = await setUpProxy(tools, { headerTemplates });
      const answer = await proxy.call();
      const strays = proxy.place.calls.flatMap(({ headers }) =>
        headers.filter(([, value]) => value.includes(proxy.value)),
      );
      const [name = ''] = strays[0] ?? [];
      expectThat(strays.length === 0, answer, `no credential in "${name}", which the record does not allow`);
    },
  },
];
