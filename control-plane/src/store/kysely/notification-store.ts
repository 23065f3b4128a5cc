import { type Kysely, sql } from 'kysely';
import type { Id } from '@svault/shared';
import type { Notification, NotificationChannel, NotificationStore } from '../../core/notification.ts';
import type { Schema } from '../schema.ts';
import { all, changesRow, countUpTo, first, pageBy, run } from './queries.ts';
import { toEntity, toRow } from './rows.ts';

/** Messages to one channel: more than it gets in an hour, so those beyond would be dropped anyway. */
const MAX_OWED = 100;

const SHOWN = [
  ...(['id', 'vault_id', 'type', 'name', 'target', 'user_id', 'created_at'] as const),
  ...(['last_delivered_at', 'last_failed_at', 'last_error'] as const),
] as const;
const STORED = [...SHOWN, 'address_wrapped'] as const;

export function createNotificationStore(db: Kysely<Schema>): NotificationStore {
  const channels = (vaultId: Id<'vlt'>) =>
    db.selectFrom('notification_channels').where('vault_id', '=', vaultId);
  const browsers = (vaultId: Id<'vlt'>, userId: Id<'usr'>) => channels(vaultId).where('user_id', '=', userId);
  const change = ({ vaultId, id }: Pick<NotificationChannel, 'vaultId' | 'id'>) =>
    db.updateTable('notification_channels').where('vault_id', '=', vaultId).where('id', '=', id);
  const changeOwed = ({ channelId, approvalId }: Notification) =>
    db.updateTable('notifications').where('channel_id', '=', channelId).where('approval_id', '=', approvalId);
  const remove = async (vaultId: Id<'vlt'>, ids: readonly Id<'nch'>[]): Promise<void> => {
    if (ids.length === 0) return;
    await run(db.deleteFrom('notifications').where('channel_id', 'in', ids));
    await run(db.deleteFrom('notification_channels').where('vault_id', '=', vaultId).where('id', 'in', ids));
  };

  return {
    add: (channel) => run(db.insertInto('notification_channels').values(toRow(channel))),
    get: (vaultId, id) =>
      first(
        channels(vaultId)
          .select(STORED)
          .where('id', '=', id as Id<'nch'>),
        toEntity,
      ),
    list: (vaultId, userId, page) =>
      pageBy(
        ['id'],
        (userId === undefined ? channels(vaultId) : browsers(vaultId, userId)).select(SHOWN),
        page,
        toEntity,
      ),
    count: (vaultId, of, atMost) =>
      countUpTo(db, channels(vaultId).where('user_id', of === 'browsers' ? 'is not' : 'is', null), atMost),
    browsersOf: (vaultId, userId) => all(browsers(vaultId, userId).select(STORED).orderBy('id'), toEntity),
    remove: ({ vaultId, id }) => remove(vaultId, [id]),
    removeOfUser: async (vaultId, userId) => {
      const own = await browsers(vaultId, userId).select('id').execute();
      await remove(
        vaultId,
        own.map(({ id }) => id),
      );
    },
    noteDelivered: (channel, at) => run(change(channel).set({ last_delivered_at: at })),
    noteFailed: (channel, at, error) => run(change(channel).set({ last_failed_at: at, last_error: error })),
    countMessage: async ({ vaultId, id }, { now, hourAgo }) => {
      const { rows } = await sql<{ sent: number }>`
        UPDATE notification_channels SET
          sent_in_hour = CASE WHEN hour_started_at > ${hourAgo} THEN sent_in_hour + 1 ELSE 1 END,
          hour_started_at = CASE WHEN hour_started_at > ${hourAgo} THEN hour_started_at ELSE ${now} END
        WHERE vault_id = ${vaultId} AND id = ${id} RETURNING sent_in_hour AS sent`.execute(db);
      return rows[0]?.sent ?? 0;
    },

    enqueue: async ({ vaultId, id, askedAt }) => {
      await sql`
        INSERT INTO notifications (channel_id, approval_id, vault_id, due_at, tries, is_summary)
        SELECT channel.id, ${id}, channel.vault_id, ${askedAt}, 0, 0
        FROM notification_channels AS channel
        WHERE channel.vault_id = ${vaultId}
          AND (SELECT count(*) FROM notifications WHERE channel_id = channel.id) < ${MAX_OWED}`.execute(db);
    },
    due: (now, { vaultIds, channelIds }, limit) => {
      let some = db.selectFrom('notifications').selectAll().where('due_at', '<=', now);
      if (vaultIds.length > 0) some = some.where('vault_id', 'not in', vaultIds);
      if (channelIds.length > 0) some = some.where('channel_id', 'not in', channelIds);
      return all(some.orderBy('due_at').limit(limit), toEntity);
    },
    claim: (notification, nextDueAt) =>
      changesRow(
        changeOwed(notification)
          .set({ due_at: nextDueAt, tries: notification.tries + 1 })
          .where('tries', '=', notification.tries),
      ),
    makeSummary: (notification) => run(changeOwed(notification).set({ is_summary: 1 })),
    settle: ({ channelId, approvalId }) =>
      run(
        db
          .deleteFrom('notifications')
          .where('channel_id', '=', channelId)
          .where('approval_id', '=', approvalId),
      ),
  };
}
