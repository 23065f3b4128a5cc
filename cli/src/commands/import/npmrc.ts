import type { Finding, Parsed } from './finding.ts';
import { isOwnKey, isStandIn } from './is-secret.ts';
import { iniEntries } from './lines.ts';
import { plainFinding } from './plain-finding.ts';

/** What npm sends to a registry: a token, `user:password` in base64, or a password in base64. */
const SECRETS: Readonly<Record<string, string>> = { _authToken: '', _auth: '-auth', _password: '-password' };
/** Of npm, where a file names none. */
const DEFAULT_REGISTRY = 'https://registry.npmjs.org/';

/** The credentials of an `.npmrc`: by registry (`//host/path/:_authToken`), or for the registry of the file. */
export function inNpmrc(text: string): Parsed {
  const entries = iniEntries(text);
  const registry = entries.findLast(({ key }) => key === 'registry')?.value ?? DEFAULT_REGISTRY;
  const findings: Finding[] = [];
  let skipped = 0;
  for (const { key, value, line } of entries) {
    const [, at, name = ''] = /^(?:(\/\/[^\s]*):)?(_authToken|_auth|_password)$/.exec(key) ?? [];
    if (name === '') continue;
    const host = URL.parse(at === undefined ? registry : `https:${at}`)?.host;
    if (host === undefined || isStandIn(value) || isOwnKey(value)) skipped += 1;
    else
      findings.push(
        plainFinding({ line, place: key, called: `npm-${host}${SECRETS[name]}`, value, hosts: [host] }),
      );
  }
  return { findings, skipped };
}
