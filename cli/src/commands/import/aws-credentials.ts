import { Secret } from '@svault/shared';
import { given } from '../../json-in.ts';
import { type Finding, type Parsed, parsedFrom } from './finding.ts';
import { isPlaceholder } from './is-secret.ts';
import { type IniEntry, iniEntries } from './lines.ts';

/**
 * The access keys of `~/.aws/credentials`, one for each profile. The webhook keeps them, and mints sessions of AWS from them.
 * Profiles with a session token are skipped: they expire within hours.
 */
export function inAwsCredentials(text: string): Parsed {
  // Not by `Object.groupBy`, which Node 20 does not have.
  const byProfile = new Map<string, IniEntry[]>();
  for (const entry of iniEntries(text)) {
    const entries = byProfile.get(entry.section) ?? [];
    byProfile.set(entry.section, entries);
    entries.push(entry);
  }
  const found: (Finding | undefined)[] = [];
  for (const [profile, entries] of byProfile) {
    // The last one counts where a key is set twice.
    const settings = Object.fromEntries(entries.map((entry) => [entry.key.toLowerCase(), entry]));
    const { aws_access_key_id: id, aws_secret_access_key: secret, region } = settings;
    if (secret === undefined) continue;
    const isSession = settings['aws_session_token'] !== undefined;
    if (isSession || id === undefined || [id, secret].some(({ value }) => isPlaceholder(value))) {
      found.push(undefined);
      continue;
    }
    const minter = given({
      type: 'aws-sts',
      accessKeyId: id.value,
      secretAccessKey: secret.value,
      region: region?.value,
    });
    found.push({
      ...{ line: secret.line, place: profile, called: `aws-${profile}`, hosts: [] },
      tokenType: 'RawCredential',
      bytes: Buffer.byteLength(secret.value),
      record: new Secret({ minter }),
    });
  }
  return parsedFrom(found);
}
