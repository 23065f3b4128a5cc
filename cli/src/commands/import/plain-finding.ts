import { Secret, isShortSecret } from '@svault/shared';
import { isAllowedHost } from '@svault/shared/schemas';
import { given } from '../../json-in.ts';
import type { Finding } from './finding.ts';

/**
 * A finding whose credential is one text. Hosts that `allowedHosts` cannot name are left out, and all of them where the text is
 * too short to be injected (PROTOCOL.md section 5.5): a person can allow that, and nobody else.
 */
export function plainFinding(
  found: Pick<Finding, 'line' | 'place' | 'called'> & {
    readonly value: string;
    readonly hosts?: readonly string[];
    /** That a proxy may put it in; the usual ones where it is left out. */
    readonly header?: string;
  },
): Finding {
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
export const svaultFinding = (found: Pick<Finding, 'line' | 'place' | 'called'>): Finding => ({
  ...found,
  tokenType: 'PlainText',
  bytes: 0,
  hosts: [],
  record: undefined,
});
