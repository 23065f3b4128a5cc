import { type Expression, type Kysely, type SqlBool, sql } from 'kysely';
import type { Id } from '@svault/shared';
import { nameKey } from '../../core/name.ts';
import type { TokenFilter, TokenMetadata, TokenStore } from '../../core/token.ts';
import type { Schema } from '../schema.ts';
import { all, changesRow, first, nameContains, pageBy, rowsOfChunks, run } from './queries.ts';
import { type RowOf, toChanges, toEntity, toRow } from './rows.ts';

const TOKEN = [
  'vault_id',
  'service_name',
  'token_type',
  'display_name',
  'description',
  'notes',
  'tags',
  'created_at',
  'updated_at',
  'upstream_rejected_at',
] as const;

export function createTokenStore(db: Kysely<Schema>): TokenStore {
  const tokens = (vaultId: Id<'vlt'>) => db.selectFrom('tokens').where('vault_id', '=', vaultId);
  const update = (vaultId: Id<'vlt'>, serviceName: string) =>
    db.updateTable('tokens').where('vault_id', '=', vaultId).where('service_name', '=', serviceName);
  return {
    add: (token) =>
      changesRow(
        db
          .insertInto('tokens')
          .values({ ...toRow(token), name_key: nameKey(token.serviceName) })
          .onConflict((conflict) => conflict.columns(['vault_id', 'service_name']).doNothing()),
      ),
    get: (vaultId, serviceName) =>
      first(tokens(vaultId).select(TOKEN).where('service_name', '=', serviceName), toToken),
    known: async (vaultId, serviceNames) => {
      const names = tokens(vaultId).select('service_name');
      const rows = await rowsOfChunks(serviceNames, (chunk) => names.where('service_name', 'in', chunk));
      return new Set(rows.map((row) => row.service_name));
    },
    names: (vaultId, atMost) =>
      all(
        tokens(vaultId).select('service_name').orderBy('service_name').limit(atMost),
        (row) => row.service_name,
      ),
    ofServices: async (vaultId, serviceNames) => {
      const whole = tokens(vaultId).select(TOKEN);
      const rows = await rowsOfChunks(serviceNames, (chunk) => whole.where('service_name', 'in', chunk));
      return rows.map(toToken);
    },
    list: (vaultId, page) =>
      pageBy(['service_name'], tokens(vaultId).select(TOKEN), page, toToken, [
        ...nameContains(page.name),
        ...isWithin(page),
      ]),
    update: (vaultId, serviceName, { displayName, description, notes, tags }, updatedAt) =>
      run(update(vaultId, serviceName).set(toChanges({ displayName, description, notes, tags, updatedAt }))),
    markRejected: (vaultId, serviceName, at) =>
      changesRow(
        update(vaultId, serviceName)
          .set({ upstream_rejected_at: at })
          .where('upstream_rejected_at', 'is', null),
      ),
    approvals: async (vaultId, serviceNames) => {
      const known = tokens(vaultId).select(['service_name', 'approval']);
      const rows = await rowsOfChunks(serviceNames, (chunk) => known.where('service_name', 'in', chunk));
      return new Map(
        rows.flatMap((row) => (row.approval === null ? [] : [[row.service_name, row.approval]])),
      );
    },
    setApproval: (vaultId, serviceName, approval) =>
      run(update(vaultId, serviceName).set({ approval: approval ?? null })),
    clearRejected: (vaultId, serviceName) =>
      run(update(vaultId, serviceName).set({ upstream_rejected_at: null })),
    remove: (vaultId, serviceName) =>
      changesRow(
        db.deleteFrom('tokens').where('vault_id', '=', vaultId).where('service_name', '=', serviceName),
      ),
  };
}

const toToken = (row: RowOf<TokenMetadata>): TokenMetadata => ({
  ...toEntity(row),
  tags: JSON.parse(row.tags) as string[],
});

/** A folder's tokens are found by the key of the table that has them. */
const isWithin = ({ tokenType, folderId }: TokenFilter): Expression<SqlBool>[] => [
  ...(tokenType === undefined ? [] : [sql<SqlBool>`token_type = ${tokenType}`]),
  ...(folderId === undefined
    ? []
    : [
        sql<SqlBool>`EXISTS (SELECT 1 FROM folder_tokens AS f WHERE f.folder_id = ${folderId}
          AND f.service_name = tokens.service_name AND f.vault_id = tokens.vault_id)`,
      ]),
];
