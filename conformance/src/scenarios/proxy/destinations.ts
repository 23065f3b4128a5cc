import type { Check } from '../../check/check.ts';
import { expectOk, expectThat } from '../../check/expect.ts';
import type { Answer } from '../../http/client.ts';
import { jsonObject } from '../../http/read-answer.ts';
import type { Tools } from '../../check/tools.ts';
import { setUpProxy, calledOnce, expectUncalled, storeText, received } from '../../upstream/proxy-setup.ts';
import { reachable } from '../../upstream/reachable.ts';
import type { Place } from '../../upstream/upstream.ts';

export const ELSEWHERE = 'api.another.example';

/** The allowed entry of the suite's upstream in its parts. */
interface HostEntry {
  readonly entry: string;
  /** `http://`, or nothing for https. */
  readonly scheme: string;
  readonly host: string;
  readonly port: string | undefined;
}

export async function hostOf(tools: Tools): Promise<HostEntry> {
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
];
