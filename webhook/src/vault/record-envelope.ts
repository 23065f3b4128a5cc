import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { AeadFailed, open, seal } from '@svault/server-kit/aead';
import { Secret, parseTime, utf8 } from '@svault/shared';
import type { Keyring } from './keyring.ts';
import type { RecordSecret, SealedSettings } from './record.ts';
import type { RecordHead, StoredRecord } from './record-store.ts';

const DATA_KEY_BYTES = 32;
const decoder = new TextDecoder();

type Label = Pick<RecordHead, 'serviceName' | 'version' | 'createdAtMs' | 'settingsText'>;

/** What is stored with a sealed body and must not change (PROTOCOL.md section 8): canonical JSON, members in order. */
const associatedData = ({ createdAtMs, serviceName, settingsText, version }: Label): Uint8Array =>
  utf8(JSON.stringify({ createdAtMs, serviceName, settingsText, version }));

/**
 * The purpose of a wrapped data encryption key: a former version does not open as the live one, even if its row is
 * changed. A rotation of the root key needs it too.
 */
export const dataKeyPurpose = (
  { serviceName, version }: Pick<Label, 'serviceName' | 'version'>,
  place: 'live' | 'retired',
): string => `${place === 'live' ? '' : 'retired-'}data-key:${version}:${serviceName}`;

export type KeyWrapper = Pick<Keyring, 'wrap' | 'unwrap'>;

/** Seals one version of a record under a new data encryption key (DEK). */
export function sealRecord(
  keys: KeyWrapper,
  record: Pick<RecordHead, 'serviceName' | 'version' | 'createdAtMs' | 'updatedAtMs'> & {
    readonly settings: SealedSettings;
    readonly secret: RecordSecret;
  },
  place: 'live' | 'retired' = 'live',
): StoredRecord {
  const { settings, secret, ...head } = record;
  const label = { ...head, settingsText: JSON.stringify(settings) };
  const dataKey = randomBytes(DATA_KEY_BYTES);
  const body = seal(dataKey, utf8(JSON.stringify(secret)), associatedData(label));
  const expiryTimeMs = parseTime(settings.expiryTime ?? '') ?? null;
  const wrappedDataKey = keys.wrap(dataKey, dataKeyPurpose(label, place));
  return { ...label, expiryTimeMs, wrappedDataKey, body };
}

/**
 * @param place according to its row
 * @throws AeadFailed if anything of the record was changed since it was sealed, or a former version poses as the live
 *   one
 */
export function openSecret(
  keys: KeyWrapper,
  record: StoredRecord,
  place: 'live' | 'retired',
): Secret<RecordSecret> {
  const dataKey = keys.unwrap(record.wrappedDataKey, dataKeyPurpose(record, place));
  const body = open(dataKey, record.body, associatedData(record));
  return new Secret(JSON.parse(decoder.decode(body)) as RecordSecret);
}

/** The wrapped data key of a live version, rewrapped for a former one; unchanged if it does not open. */
export function rewrapAsRetired(keys: KeyWrapper, live: StoredRecord): Uint8Array {
  try {
    const dataKey = keys.unwrap(live.wrappedDataKey, dataKeyPurpose(live, 'live'));
    return keys.wrap(dataKey, dataKeyPurpose(live, 'retired'));
  } catch (error) {
    if (error instanceof AeadFailed) return live.wrappedDataKey;
    throw error;
  }
}

/** Characters of settings that are kept parsed, those of the records that were used last. */
const MAX_KEPT_CHARACTERS = 4 * 1024 * 1024;
const kept = new LRUCache<string, SealedSettings>({
  maxSize: MAX_KEPT_CHARACTERS,
  sizeCalculation: (_settings, text) => text.length,
});

/** The settings of a record, not authenticated: opening the secret does that. The same object for the same text. */
export function settingsOf({ settingsText }: Pick<RecordHead, 'settingsText'>): SealedSettings {
  const known = kept.get(settingsText);
  if (known !== undefined) return known;
  const settings = JSON.parse(settingsText) as SealedSettings;
  kept.set(settingsText, settings);
  return settings;
}
