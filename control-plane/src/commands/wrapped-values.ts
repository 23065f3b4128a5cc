import { AeadFailed } from '@svault/server-kit/aead';
import type { MasterKeys } from '@svault/server-kit/master-keys';
import { type Id, hashKey } from '@svault/shared';
import { type Kysely, sql } from 'kysely';
import type { StoredChannel } from '../core/notification.ts';
import type { StoredProvider } from '../core/provider.ts';
import { revealStoredKey } from '../management/stored-keys.ts';
import { openAddress } from '../notifications/channel-address.ts';
import { openProviderSecret } from '../refresh/client-authentication.ts';
import { openSeed } from '../sign-in/tokens/refresh-rotation.ts';
import { toEntity } from '../store/kysely/rows.ts';
import type { Schema } from '../store/schema.ts';
import { createWebhookKeys } from '../webhook/webhook-keys.ts';

type StoredRow = Readonly<Record<string, string | null>>;

interface WrappedColumn {
  readonly table: keyof Schema;
  readonly key: string;
  readonly column: string;
  /** @throws where the value does not open for its row */
  open(wrapped: string, row: StoredRow, masterKeys: MasterKeys): unknown;
}

/** An agent's or a proxy's key, which is also known by its hash. */
function openKey(wrapped: string, row: StoredRow, masterKeys: MasterKeys): void {
  const key = revealStoredKey(row['id'] as Id<'agt'> | Id<'prx'>, wrapped, masterKeys);
  if (hashKey(key) !== row['key_hash']) throw new AeadFailed();
}

/** A key of the webhook, by the column of its id. */
const openWebhookKey =
  (keyId: string): WrappedColumn['open'] =>
  (wrapped, row, masterKeys) =>
    createWebhookKeys(masterKeys).open(row['vault_id'] ?? '', { id: row[keyId] ?? '', wrapped });

const openAs =
  (name: Parameters<typeof openSeed>[0]): WrappedColumn['open'] =>
  (wrapped, row, masterKeys) =>
    openSeed(name, row['session_id'] ?? '', wrapped, masterKeys);

/** Every column of what is wrapped under the data encryption key. */
export const WRAPPED_COLUMNS: readonly WrappedColumn[] = [
  { table: 'agents', key: 'id', column: 'key_wrapped', open: openKey },
  { table: 'proxies', key: 'id', column: 'key_wrapped', open: openKey },
  {
    table: 'providers',
    key: 'id',
    column: 'secret_wrapped',
    open: (_wrapped, row, masterKeys) =>
      openProviderSecret(toEntity(row) as unknown as StoredProvider, masterKeys),
  },
  { table: 'webhook_links', key: 'vault_id', column: 'key_wrapped', open: openWebhookKey('key_id') },
  {
    table: 'webhook_links',
    key: 'vault_id',
    column: 'pending_key_wrapped',
    open: openWebhookKey('pending_key_id'),
  },
  {
    table: 'notification_channels',
    key: 'id',
    column: 'address_wrapped',
    open: (_wrapped, row, masterKeys) => openAddress(toEntity(row) as unknown as StoredChannel, masterKeys),
  },
  { table: 'cli_sessions', key: 'session_id', column: 'rotation_seed_wrapped', open: openAs('cli-rotation') },
  {
    table: 'oauth_sessions',
    key: 'session_id',
    column: 'rotation_seed_wrapped',
    open: openAs('oauth-rotation'),
  },
];

const PAGE = 500;

/**
 * Opens every wrapped value of the database.
 *
 * @returns how many there are, and a sentence for each column with values that do not open
 */
export async function openWrappedValues(
  db: Kysely<Schema>,
  masterKeys: MasterKeys,
): Promise<{ readonly values: number; readonly problems: readonly string[] }> {
  let values = 0;
  const problems: string[] = [];
  for (const { table, key, column, open } of WRAPPED_COLUMNS) {
    const closed: string[] = [];
    for (let after = ''; ;) {
      const { rows } = await sql<StoredRow>`
        SELECT * FROM ${sql.table(table)} WHERE ${sql.ref(key)} > ${after} ORDER BY ${sql.ref(key)}
        LIMIT ${sql.lit(PAGE)}`.execute(db);
      for (const row of rows) {
        const wrapped = row[column] ?? null;
        if (wrapped === null) continue;
        values++;
        if (!opens(() => open(wrapped, row, masterKeys))) closed.push(row[key] ?? '');
      }
      const last = rows.at(-1)?.[key];
      if (rows.length < PAGE || typeof last !== 'string') break;
      after = last;
    }
    if (closed.length > 0)
      problems.push(
        `${closed.length} values of ${table}.${column} do not open; the first is that of ${closed[0]}`,
      );
  }
  return { values, problems };
}

function opens(open: () => unknown): boolean {
  try {
    open();
    return true;
  } catch (error) {
    // A TypeError says that it is no base64url.
    if (error instanceof AeadFailed || error instanceof TypeError) return false;
    throw error;
  }
}
