import { type Parsed, parsedFrom } from './finding.ts';
import { iniEntries } from './lines.ts';
import { credentialFinding } from './plain-finding.ts';

/** What npm sends to a registry: a token, `user:password` in base64, or a password in base64. */
const SECRETS: Readonly<Record<string, string>> = { _authToken: '', _auth: '-auth', _password: '-password' };
/** Of npm, where a file names none. */
const DEFAULT_REGISTRY = 'https://registry.npmjs.org/';

/** The credentials of an `.npmrc`: by registry (`//host/path/:_authToken`), or for the registry of the file. */
export function inNpmrc(text: string): Parsed {
  const entries = iniEntries(text);
  const registry = entries.findLast(({ key }) => key === 'registry')?.value ?? DEFAULT_REGISTRY;
  return parsedFrom(
    entries.flatMap(({ key, value, line }) => {
      const [, at, name = ''] = /^(?:(\/\/[^\s]*):)?(_authToken|_auth|_password)$/.exec(key) ?? [];
      if (name === '') return [];
      const host = URL.parse(at === undefined ? registry : `https:${at}`)?.host;
      if (host === undefined) return [undefined];
      const called = `npm-${host}${SECRETS[name]}`;
      return [credentialFinding({ line, place: key, called, value, hosts: [host] })];
    }),
  );
}
