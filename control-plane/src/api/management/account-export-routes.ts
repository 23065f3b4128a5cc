import type { z } from 'zod';
import { type Clock, type Id, formatTime } from '@svault/shared';
import { exportText } from '../../management/account-export.ts';
import { changeBy } from '../../core/actor.ts';
import { notFound } from '../../core/errors.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';
import type { Stores } from '../../core/stores.ts';
import type { WebhookLink } from '../../core/webhook-link.ts';
import { type ExportedStores, exportSections } from './account-export-sections.ts';
import {
  EXPORT_FORMAT,
  EXPORT_VERSION,
  accountExportSchema,
  exportHeadSchema,
} from './schemas/account-export.ts';
import { toVaultView } from './schemas/account.ts';

type HeadStores = Pick<Stores, 'vaults' | 'webhookLinks'>;

/** Everything that is kept of an account but keys, hashes and the log, as one document. */
export function createAccountExportRoutes({
  clock,
  stores,
}: {
  readonly clock: Clock;
  readonly stores: ExportedStores & HeadStores;
}): readonly ManagementRoute[] {
  return [
    defineRoute({
      tag: 'Account',
      method: 'get',
      path: '/api/account/export',
      operation: 'exportAccount',
      summary: 'Take out everything that is kept of the account, but no key and no event; audited',
      // It shows members' addresses and everybody's sessions.
      role: 'admin',
      whenLocked: 'answers',
      audit: ['ACCOUNT_EXPORTED'],
      limit: 'account_export',
      answer: { status: 200, streams: accountExportSchema },
      handle: async ({ actor, transaction, exchange }) => {
        const now = formatTime(clock.now());
        await transaction((inside) => inside.audit.append(changeBy(actor, 'ACCOUNT_EXPORTED')));
        exchange.setHeader('Content-Disposition', 'attachment; filename="svault-account.json"');
        return exportText(
          await headOf(stores, actor.vaultId, now),
          exportSections(stores, actor.vaultId, now),
        );
      },
    }),
  ];
}

async function headOf(
  stores: HeadStores,
  vaultId: Id<'vlt'>,
  exportedAt: string,
): Promise<z.output<typeof exportHeadSchema>> {
  const vault = await stores.vaults.get(vaultId);
  if (vault === undefined) throw notFound();
  const link = await stores.webhookLinks.find(vaultId);
  const webhook = link === undefined ? null : toWebhookExport(link);
  return exportHeadSchema.parse({
    format: EXPORT_FORMAT,
    version: EXPORT_VERSION,
    exportedAt,
    vault: toVaultView(vault),
    webhook,
  });
}

const toWebhookExport = ({ lastSeenAt, ...link }: WebhookLink): object => ({
  ...link,
  lastSeenAt: lastSeenAt ?? null,
});
