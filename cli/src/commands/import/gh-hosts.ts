import { LineCounter, type YAMLMap, isMap, isScalar, parseDocument } from 'yaml';
import { type Finding, type Parsed, parsedFrom } from './finding.ts';
import { credentialFinding } from './plain-finding.ts';

const TOKEN = 'oauth_token';

/**
 * The tokens in the `hosts.yml` of gh: that of each host, and those of its other users. gh keeps them in the system's keychain
 * where there is one; then none is here.
 * @returns undefined for what is no YAML
 */
export function inGhHosts(text: string): Parsed | undefined {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter });
  if (document.errors.length > 0) return undefined;
  const found: (Finding | undefined)[] = [];
  const add = (map: YAMLMap, host: string, user?: string): string | undefined => {
    const node = map.get(TOKEN, true);
    if (!isScalar(node) || typeof node.value !== 'string') return undefined;
    const { value } = node;
    const ofUser = user === undefined ? [] : [user];
    found.push(
      credentialFinding({
        line: lineCounter.linePos(node.range?.[0] ?? 0).line,
        place: [host, ...ofUser, TOKEN].join(' '),
        called: ['gh', host, ...ofUser].join('-'),
        value,
        hosts: hostsOf(host.toLowerCase()),
      }),
    );
    return value;
  };
  for (const [host, settings] of entriesOf(document.contents)) {
    const active = add(settings, host);
    for (const [user, ofUser] of entriesOf(settings.get('users', true)))
      // The active user's token stands in both places.
      if (ofUser.get(TOKEN) !== active) add(ofUser, host, user);
  }
  return parsedFrom(found);
}

function entriesOf(node: unknown): readonly (readonly [string, YAMLMap])[] {
  if (!isMap(node)) return [];
  return node.items.flatMap(({ key, value }) =>
    isScalar(key) && isMap(value) ? [[String(key.value), value] as const] : [],
  );
}

/** The host and its API: GitHub Enterprise Server has that at the same host. */
const hostsOf = (host: string): readonly string[] =>
  host === 'github.com' || host.endsWith('.ghe.com') ? [`api.${host}`, host] : [host];
