import { type Id, formatTime } from '@svault/shared';
import * as z from 'zod';
import { eventBy } from '../../core/actor.ts';
import { orNotFound } from '../../core/errors.ts';
import type { Grant } from '../../core/grant.ts';
import { type Page, type PageRequest, pagesOf } from '../../core/paging.ts';
import type { Proxy } from '../../core/proxy.ts';
import { type ExportSection, exportText } from '../../management/account-export.ts';
import { adminKeySchema, sessionSchema, toAdminKeyView } from './account.ts';
import { approvalSchema, toApprovalView } from './approvals.ts';
import { toVaultView, vaultSchema } from './vault.ts';
import { agentSchema, toAgentView } from './agents.ts';
import type { Needs } from './dependencies.ts';
import { timeSchema } from './fields.ts';
import { folderSchema, toFolderView } from './folders.ts';
import { grantSchema, toGrantView } from './grants.ts';
import { memberSchema } from './members.ts';
import { channelSchema, toChannelView } from './notifications.ts';
import { attachmentSchema, policySchema, toAttachmentView, toPolicyView } from './policies.ts';
import { providerSchema, toProviderView } from './providers.ts';
import { proxySchema } from './proxies.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';
import { toTokenView, tokenSchema } from './token-view.ts';

/** What the document says once, before its lists. */
const exportHeadSchema = z.object({
  format: z.literal('svault-account-export'),
  version: z.literal(1),
  exportedAt: timeSchema,
  vault: vaultSchema,
  webhook: z
    .object({
      webhookId: z.string(),
      url: z.string(),
      capabilities: z.array(z.string()),
      boundAt: timeSchema,
      boundBy: z.string(),
      lastSeenAt: timeSchema.nullable(),
    })
    .nullable()
    .meta({ description: 'null: none is bound' }),
});

/** The lists of the document, in its order. */
const exportListSchemas = {
  members: z.array(z.object(memberSchema.shape)),
  agents: z.array(agentSchema).meta({ description: 'Deleted ones too' }),
  grants: z.array(grantSchema).meta({ description: 'Expired ones too' }),
  tokens: z.array(tokenSchema.omit({ webhook: true })),
  folders: z.array(folderSchema),
  policies: z.array(policySchema),
  policyAttachments: z.array(z.object({ policyId: z.string(), ...attachmentSchema.shape })),
  proxies: z
    .array(
      proxySchema.omit({ address: true, webhook: true }).extend({
        serviceName: z.string().nullable(),
        agentId: z.string().nullable(),
        headerTemplates: z.record(z.string(), z.string()).nullable(),
        queryTemplates: z.record(z.string(), z.string()).nullable(),
        redirects: z.string().nullable(),
        region: z.string().nullable(),
        service: z.string().nullable(),
        revokedAt: timeSchema.nullable(),
        lastUsedAt: timeSchema.nullable(),
      }),
    )
    .meta({ description: 'Revoked ones too' }),
  providers: z.array(providerSchema),
  approvals: z.array(approvalSchema.omit({ callerName: true })),
  notificationChannels: z.array(channelSchema),
  adminKeys: z.array(adminKeySchema),
  sessions: z.array(sessionSchema.omit({ current: true })),
} as const;

const accountExportSchema = exportHeadSchema
  .extend(exportListSchemas)
  .meta({ id: 'AccountExport', description: 'Everything that is kept of the account but keys and the log.' });

type ListName = keyof typeof exportListSchemas;
type ExportedStores = Needs<
  never,
  | Exclude<ListName, 'members' | 'notificationChannels' | 'policyAttachments'>
  | ('notifications' | 'users' | 'vaults' | 'webhookLinks')
>['stores'];

/** Things per page: a millisecond or two of work. */
const PAGE = { limit: 200, parts: 2 };
/** Folders, policies and proxies are larger. */
const PAGE_OF_LARGE = { limit: 10, parts: 2 };

/** @param now in the written form; tells which grants have expired */
function exportSections(stores: ExportedStores, vaultId: Id<'vlt'>, now: string): ExportSection[] {
  const { adminKeys, agents, approvals, folders, grants, notifications } = stores;
  const { policies, providers, proxies, sessions, users } = stores;
  const toGrantExport = (grant: Grant) => toGrantView(grant, now);
  const lists: Record<ListName, AsyncIterable<readonly object[]>> = {
    members: viewsOf((page) => users.list(vaultId, page)),
    agents: viewsOf((page) => agents.listAll(vaultId, page), toAgentView),
    grants: viewsOf((page) => grants.listAll(vaultId, page), toGrantExport),
    tokens: tokensOf(stores, vaultId),
    folders: viewsOf((page) => folders.list(vaultId, page), toFolderView, PAGE_OF_LARGE),
    policies: viewsOf((page) => policies.list(vaultId, undefined, page), toPolicyView, PAGE_OF_LARGE),
    policyAttachments: attachmentsOf(policies, vaultId),
    proxies: viewsOf((page) => proxies.list(vaultId, page), toProxyExport, PAGE_OF_LARGE),
    providers: viewsOf((page) => providers.list(vaultId, page), toProviderView),
    approvals: viewsOf(
      (page) => approvals.list(vaultId, undefined, page),
      (approval) => toApprovalView(approval, now),
    ),
    notificationChannels: viewsOf((page) => notifications.list(vaultId, undefined, page), toChannelView, {
      ...PAGE,
      parts: 1,
    }),
    adminKeys: viewsOf((page) => adminKeys.list(vaultId, page), toAdminKeyView),
    sessions: viewsOf((page) => sessions.list(vaultId, {}, page)),
  };
  return (Object.keys(exportListSchemas) as ListName[]).map((name) => ({
    name,
    pages: inForm(exportListSchemas[name], lists[name]),
  }));
}

/** What the schema does not name is not written, whatever a view may carry. */
async function* inForm(
  schema: z.ZodType<readonly object[]>,
  pages: AsyncIterable<readonly object[]>,
): AsyncGenerator<readonly object[]> {
  for await (const page of pages) yield schema.parse(page);
}

async function* viewsOf<T extends object>(
  list: (page: PageRequest) => Promise<Page<T>>,
  viewOf: (item: T) => object = (item) => item,
  size = PAGE,
): AsyncGenerator<readonly object[]> {
  for await (const items of pagesOf(list, size)) yield items.map((item) => viewOf(item));
}

async function* tokensOf(
  { folders, tokens }: ExportedStores,
  vaultId: Id<'vlt'>,
): AsyncGenerator<readonly object[]> {
  for await (const page of pagesOf((request) => tokens.list(vaultId, request), { ...PAGE, parts: 1 })) {
    const folderIds = await folders.ofTokens(
      vaultId,
      page.map(({ serviceName }) => serviceName),
    );
    yield page.map((token) => toTokenView(token, { folderIds: folderIds.get(token.serviceName) }));
  }
}

async function* attachmentsOf(
  policies: ExportedStores['policies'],
  vaultId: Id<'vlt'>,
): AsyncGenerator<readonly object[]> {
  for await (const page of pagesOf((request) => policies.list(vaultId, undefined, request), PAGE_OF_LARGE))
    for (const { id: policyId } of page)
      yield* viewsOf(
        (request) => policies.attachments(policyId, request),
        (target) => ({ policyId, ...toAttachmentView(target) }),
      );
}

const toProxyExport = (proxy: Proxy): object => ({
  ...proxy,
  serviceName: proxy.serviceName ?? null,
  agentId: proxy.agentId ?? null,
  headerTemplates: proxy.headerTemplates ?? null,
  queryTemplates: proxy.queryTemplates ?? null,
  redirects: proxy.redirects ?? null,
  region: proxy.region ?? null,
  service: proxy.service ?? null,
  revokedAt: proxy.revokedAt ?? null,
  lastUsedAt: proxy.lastUsedAt ?? null,
});

/** Everything that is kept of an account but keys, hashes and the log, as one document. */
export function createAccountExportRoutes({
  clock,
  stores,
}: Needs<'clock', keyof ExportedStores>): ManagementRoute[] {
  return [
    defineRoute('GET /api/account/export', {
      tag: 'Account',
      operation: 'exportAccount',
      summary: 'Take out everything that is kept of the account, but no key and no event; audited',
      // It shows members' addresses and everybody's sessions.
      role: 'admin',
      limit: 'account_export',
      response: { status: 200, streams: accountExportSchema },
      handle: async ({ actor, transaction, exchange }) => {
        const now = formatTime(clock.now());
        await transaction((inside) => inside.audit.append(eventBy(actor, 'ACCOUNT_EXPORTED')));
        exchange.setHeader('Content-Disposition', 'attachment; filename="svault-account.json"');
        const head = await headOf(stores, actor.vaultId, now);
        return exportText(head, exportSections(stores, actor.vaultId, now));
      },
    }),
  ];
}

async function headOf(
  { vaults, webhookLinks }: ExportedStores,
  vaultId: Id<'vlt'>,
  exportedAt: string,
): Promise<z.output<typeof exportHeadSchema>> {
  const vault = toVaultView(orNotFound(await vaults.get(vaultId)));
  const link = await webhookLinks.find(vaultId);
  const webhook = link === undefined ? null : { ...link, lastSeenAt: link.lastSeenAt ?? null };
  return exportHeadSchema.parse({
    format: 'svault-account-export',
    version: 1,
    exportedAt,
    vault,
    webhook,
  });
}
