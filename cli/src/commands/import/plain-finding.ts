import { Secret, isShortSecret } from '@svault/shared';
import { isAllowedHost } from '@svault/shared/schemas';
import { given } from '../../json-in.ts';
import type { Finding } from './finding.ts';
import { isOwnKey, isPlaceholder, judged } from './is-secret.ts';

type Place = Pick<Finding, 'line' | 'place' | 'called'>;
type PlainValue = Place & {
  readonly value: string;
  readonly hosts?: readonly string[];
  /** That a proxy may put it in; the usual ones where it is left out. */
  readonly header?: string;
};

/**
 * A finding whose credential is one text. Hosts that `allowedHosts` cannot name are left out, and all of them where the text is
 * too short to be injected (PROTOCOL.md section 5.5), which only a person can allow.
 */
export function plainFinding(found: PlainValue): Finding {
  const { value, header, line, place, called } = found;
  const hosts = isShortSecret(value) ? [] : (found.hosts ?? []).filter(isAllowedHost);
  const record = given({
    value,
    allowedHosts: hosts.length === 0 ? undefined : hosts,
    allowedHeaders: header === undefined || hosts.length === 0 ? undefined : [header.toLowerCase()],
  });
  return {
    ...{ line, place, called, hosts, tokenType: 'PlainText' },
    bytes: Buffer.byteLength(value),
    record: new Secret(record),
  };
}

/** A finding of a key of svault: there is nothing to import. */
export const svaultFinding = ({ line, place, called }: Place): Finding => ({
  ...{ line, place, called },
  tokenType: 'PlainText',
  bytes: 0,
  hosts: [],
  record: undefined,
});

/** A finding in a place for credentials alone; undefined for a placeholder and a key of svault. */
export const credentialFinding = (found: PlainValue): Finding | undefined =>
  isPlaceholder(found.value) || isOwnKey(found.value) ? undefined : plainFinding(found);

/** A finding in a setting of any kind, judged by its name as well; undefined for what is no secret. */
export function settingFinding(name: string, found: PlainValue): Finding | undefined {
  const judgement = judged(name, found.value);
  if (judgement === 'other') return undefined;
  return judgement === 'svault' ? svaultFinding(found) : plainFinding(found);
}
