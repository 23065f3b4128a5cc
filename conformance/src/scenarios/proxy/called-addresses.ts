import { variantsAtOnce } from '../../check/each-variant.ts';
import type { Check } from '../../check/check.ts';
import { expectOk, expectThat } from '../../check/expect.ts';
import { jsonObject } from '../../http/read-answer.ts';
import { expectUncalled, proxiesTo, type ProxyTo } from '../../upstream/proxy-setup.ts';
import { reachable } from '../../upstream/reachable.ts';
import { hostOf, type HostEntry } from './own-host.ts';

/** A name that leads nowhere: a call of it that is let through comes back as 502, one that is not as 403. */
const NAME = 'api.svault.invalid';
/** Addresses that section 6 lets through, and nobody has. */
const V4 = '192.88.99.1';
const V6 = '[2000::1]';

/** What is called with a record that may go to one entry alone. */
interface Row {
  readonly entry: string;
  /** URLs that the entry does not name. */
  readonly others: readonly string[];
  /** URLs that it does. */
  readonly same?: readonly string[];
}

/** The suite's own upstream, which sees what is called wrongly. */
interface Own extends HostEntry {
  readonly url: string;
  /** The entry that names its scheme and port with another host. */
  readonly with: (host: string) => string;
}

/** A check of what can be called with an entry. An entry, and a URL, that are not taken open nothing either. */
function calls(
  id: string,
  title: string,
  requirements: Check['requirements'],
  rowsFor: (own: Own) => readonly Row[],
): Check {
  return {
    id: `destination.${id}`,
    title,
    requirements,
    claims: ['proxy'],
    run: async (tools) => {
      await reachable(tools);
      const host = await hostOf(tools);
      const place = (await tools.given.upstream()).open();
      const port = host.port === undefined ? '' : `:${host.port}`;
      const own = { ...host, url: place.url, with: (other: string) => host.scheme + other + port };
      const name = tools.freshName();
      for (const { entry, others, same = [] } of rowsFor(own)) {
        const body = { tokenType: 'PlainText', value: 'a-canary-of-destinations', allowedHosts: [entry] };
        const stored = await tools.store(name, body);
        if (stored.status === 400 && same.length === 0) continue;
        expectOk(stored);
        const proxies = await proxiesTo(tools, name, [...others, ...same]);
        const byUrl = Object.fromEntries(proxies.map((each) => [`${each.url} with ${entry}`, each]));
        await variantsAtOnce(byUrl, async ({ url, call }: ProxyTo) => {
          const answer = await call();
          if (!same.includes(url))
            return expectUncalled(
              { place },
              answer,
              'DESTINATION_NOT_ALLOWED',
              `${url} with the entry ${entry}`,
            );
          const code = String(jsonObject(answer)?.['code']);
          return expectThat(
            code.startsWith('UPSTREAM_'),
            answer,
            `a call of ${url} that came to nothing, with the entry ${entry}`,
          );
        });
      }
    },
  };
}

const https = (hosts: readonly string[]): readonly string[] => hosts.map((host) => `https://${host}/`);
const isPort = (port: number): boolean => port > 0 && port <= 65_535;

/** Protocol sections 5.5 and 5.6: an entry names what is called, and nothing that is written alike. */
export const CALLED_ADDRESS_CHECKS: readonly Check[] = [
  calls('other-port', 'a host with a port means that port only', ['SAV-14', 'PRX-08'], (own) => {
    const port = Number(own.port ?? (own.scheme === '' ? '443' : '80'));
    // What begins or ends like the port is another one too.
    const ports = [port === 65_535 ? 1024 : port + 1, 443, 80, port * 10, Math.floor(port / 10)];
    return [
      {
        entry: `${NAME}:844`,
        others: https([NAME, ...['443', '8443', '84', '44', '1844', '80'].map((each) => `${NAME}:${each}`)]),
        same: https([`${NAME}:844`]),
      },
      ...ports
        .filter((each) => isPort(each) && each !== port)
        .map((each) => ({ entry: `${own.scheme}${own.host}:${each}`, others: [own.url] })),
    ];
  }),
  calls(
    'default-port',
    'a host without a port means the default port of its scheme only, written out or not',
    ['SAV-13', 'SAV-34', 'PRX-08'],
    (own) => [
      {
        entry: NAME,
        others: [...https([`${NAME}:8443`, `${NAME}:80`]), `http://${NAME}:443/`, `http://${NAME}/`],
        same: https([NAME, `${NAME}:443`]),
      },
      {
        entry: `${NAME}:443`,
        others: [`http://${NAME}:443/`, `http://${NAME}/`, `https://${NAME}:4430/`],
        same: https([NAME, `${NAME}:443`]),
      },
      { entry: `${NAME}:80`, others: [`http://${NAME}/`, `http://${NAME}:80/`, `https://${NAME}/`] },
      { entry: `http://${NAME}`, others: https([NAME, `${NAME}:443`, `${NAME}:80`]) },
      // Where the upstream is at the default port, another one has to be named to be another.
      { entry: `${own.scheme}${own.host}${own.port === undefined ? ':8443' : ''}`, others: [own.url] },
    ],
  ),
  calls(
    'look-alikes',
    'a host that begins or ends like an allowed one, is above or below it, or holds it elsewhere is another host',
    ['PRX-08', 'PRX-19', 'SAV-12'],
    (own) => [
      {
        entry: NAME,
        others: [
          ...https([`${NAME}.another.invalid`, `${NAME}x`, `evil-${NAME}`, `evil${NAME}`, `evil.${NAME}`]),
          ...https([NAME.slice(4), NAME.slice(1), NAME.slice(0, -1), 'xapi.svault.invalid', `${NAME}.`]),
          // A dot is no pattern.
          ...https([NAME.replace('.', 'x'), NAME.replace('.', '-'), NAME.replace('.', '..')]),
          ...https([`${NAME}@another.invalid`, `${NAME}:443@another.invalid`, `another.invalid/${NAME}`]),
          ...https([`another.invalid/?${NAME}`, `another.invalid\\@${NAME}`, `another.invalid/@${NAME}`]),
        ],
        same: https([NAME]),
      },
      { entry: NAME.slice(4), others: https([NAME]) },
      // Seen at the suite's own upstream too; an IPv6 address looks like no name.
      ...[`${own.host}.another.example`, `evil-${own.host}`, `evil.${own.host}`, own.host.slice(1)]
        .filter((host) => !host.includes(']'))
        .map((host) => ({ entry: own.with(host), others: [own.url] })),
    ],
  ),
  calls(
    'patterns',
    'an entry is no pattern: a star or a dot in it fits no other host, and no port',
    ['PRX-08', 'SAV-11', 'SAV-12'],
    (own) => [
      ...[
        ...['*.svault.invalid', '.svault.invalid', 'api.*', 'api.*.invalid', '*api.svault.invalid'],
        ...['[a-z.]*', 'ap?.svault.invalid', `${NAME}:*`, '*:443', '*.', '**', '.*', '%2a'],
      ].map((entry) => ({ entry, others: https([NAME]) })),
      ...[`${own.scheme}${own.host}:*`, own.with('*'), own.with('.*'), 'http://*'].map((entry) => ({
        entry,
        others: [own.url],
      })),
    ],
  ),
  calls(
    'other-addresses',
    'an address that begins or ends like an allowed one, or holds it in another family, is another host',
    ['PRX-08', 'PRX-19', 'SAV-12'],
    () => [
      {
        entry: V4,
        others: https([
          ...[`${V4}0`, `${V4}00`, '192.88.99.2', `${V4}.svault.invalid`, `x.${V4}.svault.invalid`],
          ...['[::ffff:192.88.99.1]', '[::ffff:c058:6301]', '[2000::c058:6301]', '[2000::192.88.99.1]'],
        ]),
      },
      {
        entry: V6,
        others: https([
          ...['[2000::10]', '[2000::1:1]', '[2000::]', '[2000::2]', '[2000:1::1]', '[2000:1::]'],
          '[2000:0:1::1]',
          ...['2000', '2000.svault.invalid', '0.0.7.208'],
        ]),
      },
    ],
  ),
];
