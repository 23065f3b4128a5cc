import { randomBytes } from 'node:crypto';
import { open, seal } from '@svault/server-kit/aead';
import { canonicalJson } from '@svault/server-kit/hash-chain';
import { Secret, parseTime, utf8 } from '@svault/shared';
import type { Keyring } from './keyring.ts';
import type { RecordSecret, SealedSettings } from './record.ts';
import type { RecordHead, StoredRecord } from './record-store.ts';

const DATA_KEY_BYTES = 32;
const decoder = new TextDecoder();

type Label = Pick<RecordHead, 'serviceName' | 'version' | 'createdAtMs' | 'settingsText'>;

/** What stands beside a sealed body and must not change: protocol section 8. */
const associatedData = ({ serviceName, version, createdAtMs, settingsText }: Label): Uint8Array =>
  utf8(canonicalJson({ serviceName, version, createdAtMs, settingsText }));

/** What a data key is wrapped for; a rotation of the master key needs it too. */
export const dataKeyPurpose = ({ serviceName, version }: Pick<Label, 'serviceName' | 'version'>): string =>
  `data-key:${version}:${serviceName}`;

/** Wraps and unwraps data keys: the two moves of the keyring that an envelope needs. */
export type KeyWrapper = Pick<Keyring, 'wrap' | 'unwrap'>;

/** Seals one version of a record under a data key of its own. */
export function sealRecord(
  keys: KeyWrapper,
  record: Pick<RecordHead, 'serviceName' | 'version' | 'createdAtMs' | 'updatedAtMs'> & {
    readonly settings: SealedSettings;
    readonly secret: RecordSecret;
  },
): StoredRecord {
  const { settings, secret, ...head } = record;
  const label = { ...head, settingsText: JSON.stringify(settings) };
  const dataKey = randomBytes(DATA_KEY_BYTES);
  const body = seal(dataKey, utf8(JSON.stringify(secret)), associatedData(label));
  const expiryTimeMs = settings.expiryTime === undefined ? undefined : parseTime(settings.expiryTime);
  return { ...label, expiryTimeMs, dataKey: keys.wrap(dataKey, dataKeyPurpose(label)), body };
}

/** @throws AeadFailed when anything of the record was changed since it was sealed */
export function openSecret(keys: KeyWrapper, record: StoredRecord): Secret<RecordSecret> {
  const dataKey = keys.unwrap(record.dataKey, dataKeyPurpose(record));
  const body = open(dataKey, record.body, associatedData(record));
  return new Secret(JSON.parse(decoder.decode(body)) as RecordSecret);
}

/** The settings of a record. Lists read them as they stand; whoever uses the secret opens it, which checks them. */
export function settingsOf(record: Pick<RecordHead, 'settingsText'>): SealedSettings {
  return JSON.parse(record.settingsText) as SealedSettings;
}
