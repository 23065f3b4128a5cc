import type { Check } from '../check.ts';
import { expectOk, expectThat } from '../expect.ts';
import type { Answer } from '../http/client.ts';
import { jsonObject } from '../http/read-answer.ts';
import type { Tools } from '../tools.ts';
import { armed, calledOnce, expectUncalled, loaded, received, type Armed } from '../upstream/armed.ts';
import { reachable } from '../upstream/reachable.ts';
import type { Place } from '../upstream/upstream.ts';

const ELSEWHERE = 'api.another.example';

/** The allowed entry of the suite's upstream in its parts. */
interface HostEntry {
  readonly entry: string;
  /** `http://`, or nothing for https. */
  readonly scheme: string;
  readonly host: string;
  readonly port: string | undefined;
}

async function hostOf(tools: Tools): Promise<HostEntry> {
  const { allowedHost: entry } = await tools.given.upstream();
  const [, scheme = '', host = '', port] = /^(http:\/\/)?(\[.*\]|[^:]*)(?::(\d+))?$/.exec(entry) ?? [];
  return { entry, scheme, host, port };
}

/** A proxy to the suite's upstream by another scheme: by https nothing answers where the upstream speaks plain http. */
async function byScheme(
  tools: Tools,
  scheme: 'https:' | 'http:',
  allowedHosts: readonly string[],
): Promise<{ readonly place: Place; call(): Promise<Answer> }> {
  const { name: serviceName } = await loaded(tools, { allowedHosts });
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
      const proxy = await armed(tools, { record: { name, value: 'a-canary-of-destinations' } });
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
        const proxy = await armed(tools, { record: await loaded(tools, { allowedHosts }) });
        const answer = await proxy.call();
        const [sent] = received(calledOnce(proxy, answer), 'authorization');
        const what = `allowedHosts ${JSON.stringify(allowedHosts)}`;
        expectThat(sent === `Bearer ${proxy.value}`, answer, `the credential at the upstream, with ${what}`);
      }
    },
  };
}

async function withTemplates(
  tools: Tools,
  headerTemplates: Readonly<Record<string, string>>,
  allowedHeaders?: readonly string[],
): Promise<Armed> {
  const record = await loaded(tools, allowedHeaders && { allowedHeaders });
  return armed(tools, { record, headerTemplates });
}

/** Protocol sections 5.5 and 5.6: where a record's owner let it go. */
export const DESTINATION_CHECKS: readonly Check[] = [
  {
    id: 'destination.no-hosts',
    title: 'a record without allowedHosts is injected nowhere',
    requirements: ['SAV-17', 'PRX-08', 'PRX-19'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await armed(tools, { record: await tools.given.text() });
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
  notAllowed('other-port', 'a host with a port means that port only', ['SAV-14', 'PRX-08'], async (tools) => {
    const { entry, scheme, host, port = scheme === '' ? '443' : '80' } = await hostOf(tools);
    const other = Number(port) === 65_535 ? 1024 : Number(port) + 1;
    // What begins or ends like the port is another one too.
    const ports = [other, 443, 80, Number(`${port}0`), Number(port.slice(0, -1))];
    const others = ports.filter((each) => each > 0 && each <= 65_535 && each !== Number(port));
    const named = others.map((each) => `${scheme}${host}:${each}`);
    return named.filter((each) => each !== entry).map((each) => [each]);
  }),
  notAllowed(
    'default-port',
    'a host without a port means the default port of the scheme only',
    ['SAV-13', 'PRX-08'],
    async (tools) => {
      const { scheme, host, port } = await hostOf(tools);
      // Where the upstream is at the default port, another one has to be named to be another.
      return port === undefined ? [[`${scheme}${host}:8443`]] : [[scheme + host]];
    },
  ),
  notAllowed(
    'look-alikes',
    'a host that begins or ends like an allowed one, or that a pattern would fit, is another host',
    ['PRX-08', 'SAV-11', 'SAV-12'],
    async (tools) => {
      const { scheme, host, port } = await hostOf(tools);
      const behind = port === undefined ? '' : `:${port}`;
      const [, ...others] = host.split('.');
      const parent = others.join('.');
      const hosts = [
        host.slice(1),
        ...[`${host}.another.example`, `evil-${host}`, `evil.${host}`],
        ...(parent === '' ? [] : [`*.${parent}`, `.${parent}`]),
      ];
      // An address in brackets looks like no name.
      const whole = host.startsWith('[') ? [] : hosts.map((each) => each + behind);
      const patterns = [`${host}:*`, ...(behind === '' ? [] : [`*${behind}`])];
      return [...whole, ...patterns].map((each) => [scheme + each]);
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
  {
    id: 'destination.sealed-settings',
    title: 'neither a ticket nor a request can widen where a record goes',
    requirements: ['TRU-01', 'PRX-08'],
    claims: ['proxy'],
    run: async (tools) => {
      const { entry } = await hostOf(tools);
      const proxy = await armed(tools, { record: await loaded(tools, { allowedHosts: [ELSEWHERE] }) });
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
      const { name: serviceName } = await loaded(tools, { allowedHosts: [ELSEWHERE] });
      const place = (await tools.given.upstream()).open();
      const headerTemplates = { authorization: '${TOKEN}' };
      const config = { serviceName, upstreamUrl: `https://${ELSEWHERE}/`, headerTemplates };
      const proxyId = await tools.given.proxy(config);
      const moved = await tools.storage({ op: 'proxies.put', proxyId, ...config, upstreamUrl: place.url });
      // Whoever refuses it here has not moved it.
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
      const proxy = await armed(tools, { record: await loaded(tools) });
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
        const proxy = await armed(tools, { headerTemplates });
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
      const proxy = await armed(tools, {
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
      const proxy = await armed(tools, { headerTemplates });
      const answer = await proxy.call();
      const strays = proxy.place.calls.flatMap(({ headers }) =>
        headers.filter(([, value]) => value.includes(proxy.value)),
      );
      const [name = ''] = strays[0] ?? [];
      expectThat(strays.length === 0, answer, `no credential in "${name}", which the record does not allow`);
    },
  },
];
