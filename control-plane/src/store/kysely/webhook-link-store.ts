import type { Kysely } from 'kysely';
import type { Id } from '@svault/shared';
import {
  SET_ASIDE_REASONS,
  type SetAside,
  type WebhookLink,
  type WebhookLinkStore,
} from '../../core/webhook-link.ts';
import type { Schema, WebhookLinkRow } from '../schema.ts';
import { all, changesRow, first, run } from './queries.ts';

export function createWebhookLinkStore(db: Kysely<Schema>): WebhookLinkStore {
  const linkOf = (vaultId: Id<'vlt'>) => db.updateTable('webhook_links').where('vault_id', '=', vaultId);
  const boundLink = ({ vaultId, webhookId }: Pick<WebhookLink, 'vaultId' | 'webhookId'>) =>
    linkOf(vaultId).where('webhook_id', '=', webhookId);
  return {
    find: (vaultId) =>
      first(db.selectFrom('webhook_links').selectAll().where('vault_id', '=', vaultId), fromRow),

    insert: (link) =>
      changesRow(
        db
          .insertInto('webhook_links')
          .values(toRow(link))
          .onConflict((conflict) => conflict.column('vault_id').doNothing()),
      ),

    delete: (vaultId) => changesRow(db.deleteFrom('webhook_links').where('vault_id', '=', vaultId)),

    setPendingKey: (link, key) => {
      const pending = link.pendingKey?.wrapped ?? null;
      return changesRow(
        boundLink(link)
          .set({ pending_key_id: key.id, pending_key_wrapped: key.wrapped })
          .where('key_wrapped', '=', link.key.wrapped)
          .where('pending_key_wrapped', pending === null ? 'is' : '=', pending),
      );
    },

    activatePendingKey: (vaultId, keyId) =>
      changesRow(
        linkOf(vaultId)
          .set(({ ref }) => ({
            key_id: keyId,
            key_wrapped: ref('pending_key_wrapped').$notNull(),
            pending_key_id: null,
            pending_key_wrapped: null,
          }))
          .where('pending_key_id', '=', keyId),
      ),

    withPendingKey: ({ after = NO_VAULT, limit }) =>
      all(
        db
          .selectFrom('webhook_links')
          .selectAll()
          .where('pending_key_id', 'is not', null)
          .where('vault_id', '>', after)
          .orderBy('vault_id')
          .limit(limit),
        fromRow,
      ),

    ofOpenVaults: ({ after = NO_VAULT, limit }) =>
      all(
        db
          .selectFrom('webhook_links')
          .innerJoin('vaults', 'vaults.id', 'webhook_links.vault_id')
          .selectAll('webhook_links')
          .where('webhook_links.vault_id', '>', after)
          .where('webhook_links.last_seen_at', 'is not', null)
          .where('vaults.locked_at', 'is', null)
          .orderBy('webhook_links.vault_id')
          .limit(limit),
        fromRow,
      ),

    noteSeen: (link, { at, latencyMs, capabilities }) =>
      run(
        boundLink(link).set({
          last_seen_at: at,
          latency_ms: latencyMs,
          capabilities: capabilities && JSON.stringify(capabilities),
        }),
      ),

    setAside: (link, aside) => run(boundLink(link).set(asideColumns(aside))),

    logHead: (vaultId, webhookId) =>
      db
        .selectFrom('webhook_log_heads')
        .select(['epoch', 'seq', 'hash'])
        .where('vault_id', '=', vaultId)
        .where('webhook_id', '=', webhookId)
        .executeTakeFirst(),

    rememberLogHead: (vaultId, webhookId, { epoch, seq, hash }, at) => {
      const seen = { epoch, seq, hash, seen_at: at };
      return run(
        db
          .insertInto('webhook_log_heads')
          .values({ vault_id: vaultId, webhook_id: webhookId, ...seen })
          .onConflict((conflict) => conflict.columns(['vault_id', 'webhook_id']).doUpdateSet(seen)),
      );
    },
  };
}

/** Before every id. */
const NO_VAULT = '' as Id<'vlt'>;

const asideColumns = (aside: SetAside | undefined) => ({
  aside_until: aside?.until ?? null,
  aside_reason: aside?.reason ?? null,
  aside_strikes: aside?.strikes ?? 0,
});

function toRow(link: WebhookLink): WebhookLinkRow {
  return {
    vault_id: link.vaultId,
    webhook_id: link.webhookId,
    url: link.url,
    key_id: link.key.id,
    key_wrapped: link.key.wrapped,
    pending_key_id: link.pendingKey?.id ?? null,
    pending_key_wrapped: link.pendingKey?.wrapped ?? null,
    capabilities: JSON.stringify(link.capabilities),
    bound_at: link.boundAt,
    bound_by: link.boundBy,
    last_seen_at: link.lastSeenAt ?? null,
    latency_ms: link.latencyMs ?? null,
    ...asideColumns(link.setAside),
  };
}

function fromRow(row: WebhookLinkRow): WebhookLink {
  const { pending_key_id: pendingId, pending_key_wrapped: pendingWrapped } = row;
  return {
    vaultId: row.vault_id,
    webhookId: row.webhook_id,
    url: row.url,
    key: { id: row.key_id, wrapped: row.key_wrapped },
    pendingKey:
      pendingId === null || pendingWrapped === null ? undefined : { id: pendingId, wrapped: pendingWrapped },
    capabilities: JSON.parse(row.capabilities) as string[],
    boundAt: row.bound_at,
    boundBy: row.bound_by,
    lastSeenAt: row.last_seen_at ?? undefined,
    latencyMs: row.latency_ms ?? undefined,
    setAside: asideOf(row),
  };
}

function asideOf(row: WebhookLinkRow): SetAside | undefined {
  const reason = SET_ASIDE_REASONS.find((known) => known === row.aside_reason);
  if (reason === undefined || row.aside_until === null) return undefined;
  return { reason, until: row.aside_until, strikes: row.aside_strikes };
}
