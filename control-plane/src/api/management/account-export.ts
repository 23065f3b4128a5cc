import { type Clock, type Id, formatTime } from '@svault/shared';
import { z } from 'zod';
import { ROLES, eventBy } from '../../core/actor.ts';
import { notFound } from '../../core/errors.ts';
import { type Page, type PageRequest, pagesOf } from '../../core/paging.ts';
import type { Proxy } from '../../core/proxy.ts';
import type { Stores } from '../../core/stores.ts';
import type { WebhookLink } from '../../core/webhook-link.ts';
import { type ExportSection, exportText } from '../../management/account-export.ts';
import { adminKeySchema, sessionSchema, toAdminKeyView } from './account.ts';
import { toVaultView, vaultSchema } from './vault.ts';
import { agentSchema, toAgentView } from './agents.ts';
import { timeSchema } from './fields.ts';
import { folderSchema, toFolderView } from './folders.ts';
import { grantSchema, toGrantView } from './grants.ts';
import { attachmentSchema, policySchema, toAttachmentView, toPolicyView } from './policies.ts';
import { providerSchema, toProviderView } from './providers.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';
import { toTokenView, tokenSchema } from './tokens.ts';

const EXPORT_FORMAT = 'svault-account-export';
const EXPORT_VERSION = 1;

/** What the document says once, before its lists. */
const exportHeadSchema = z.object({
  format: z.literal(EXPORT_FORMAT),
  version: z.literal(EXPORT_VERSION),
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

/** Of what each list is made. */
const exportItemSchemas = {
  members: z.object({
    id: z.string(),
    email: z.string(),
    role: z.enum(ROLES),
    isOwner: z.boolean(),
    createdAt: timeSchema,
  }),
  agents: agentSchema,
  grants: grantSchema,
  tokens: tokenSchema.omit({ webhook: true }),
  folders: folderSchema,
  policies: policySchema,
  policyAttachments: z.object({ policyId: z.string(), ...attachmentSchema.shape }),
  proxies: z.object({
    id: z.string(),
    name: z.string(),
    upstreamUrl: z.string(),
    upstreamAuthType: z.enum(['Token', 'sv_session']),
    serviceName: z.string().nullable(),
    agentId: z.string().nullable(),
    headerTemplates: z.record(z.string(), z.string()).nullable(),
    status: z.enum(['active', 'revoked']),
    keyPrefix: z.string(),
    createdAt: timeSchema,
    revokedAt: timeSchema.nullable(),
    lastUsedAt: timeSchema.nullable(),
  }),
  providers: providerSchema,
  adminKeys: adminKeySchema,
  sessions: sessionSchema.omit({ current: true }),
} as const;

const accountExportSchema = exportHeadSchema
  .extend({
    members: z.array(exportItemSchemas.members),
    agents: z.array(exportItemSchemas.agents).meta({ description: 'Deleted ones too' }),
    grants: z.array(exportItemSchemas.grants).meta({ description: 'Expired ones too' }),
    tokens: z.array(exportItemSchemas.tokens),
    folders: z.array(exportItemSchemas.folders),
    policies: z.array(exportItemSchemas.policies),
    policyAttachments: z.array(exportItemSchemas.policyAttachments),
    proxies: z.array(exportItemSchemas.proxies).meta({ description: 'Revoked ones too' }),
    providers: z.array(exportItemSchemas.providers),
    adminKeys: z.array(exportItemSchemas.adminKeys),
    sessions: z.array(exportItemSchemas.sessions),
  })
  .meta({ id: 'AccountExport', description: 'Everything that is kept of the account but keys and the log.' });

type ExportedStores = Pick<
  Stores,
  | 'adminKeys'
  | 'agents'
  | 'folders'
  | 'grants'
  | 'policies'
  | 'providers'
  | 'proxies'
  | 'sessions'
  | 'tokens'
  | 'users'
>;

/** Things per page: a millisecond or two of work. */
const PAGE = 200;
/** Folders, policies and proxies are larger. */
const PAGE_OF_LARGE = 10;

type Name = keyof typeof exportItemSchemas;
type List<T> = (page: PageRequest) => Promise<Page<T>>;

/**
 * The lists of an account's export, in the order of the document.
 *
 * @param now in the written form; tells which grants have expired
 */
function exportSections(stores: ExportedStores, vaultId: Id<'vlt'>, now: string): readonly ExportSection[] {
  const { adminKeys, agents, folders, grants, policies, proxies, sessions, tokens, users } = stores;
  const { providers } = stores;
  const byTime = <T>(list: List<T>) => pagesOf(list, { limit: PAGE, parts: 2 });
  const allPolicies = () =>
    pagesOf((page) => policies.list(vaultId, undefined, page), { limit: PAGE_OF_LARGE, parts: 2 });
  const allTokens = pagesOf((page) => tokens.list(vaultId, page), { limit: PAGE, parts: 1 });
  const allProxies = pagesOf((page) => proxies.list(vaultId, page), { limit: PAGE_OF_LARGE, parts: 2 });
  const allFolders = pagesOf((page) => folders.list(vaultId, page), { limit: PAGE_OF_LARGE, parts: 2 });
  return [
    section(
      'members',
      byTime((page) => users.list(vaultId, page)),
      (user) => user,
    ),
    section(
      'agents',
      byTime((page) => agents.listAll(vaultId, page)),
      toAgentView,
    ),
    section(
      'grants',
      byTime((page) => grants.listAll(vaultId, page)),
      (grant) => toGrantView(grant, now),
    ),
    sectionOfPages('tokens', allTokens, async (page) => {
      const names = page.map(({ serviceName }) => serviceName);
      const folderIds = await folders.ofTokens(vaultId, names);
      return page.map((token) => toTokenView(token, { folderIds: folderIds.get(token.serviceName) }));
    }),
    section('folders', allFolders, toFolderView),
    section('policies', allPolicies(), toPolicyView),
    section('policyAttachments', attachmentsOf(policies, allPolicies()), (attachment) => attachment),
    section('proxies', allProxies, toProxyExport),
    section(
      'providers',
      byTime((page) => providers.list(vaultId, page)),
      toProviderView,
    ),
    section(
      'adminKeys',
      byTime((page) => adminKeys.list(vaultId, page)),
      toAdminKeyView,
    ),
    section(
      'sessions',
      byTime((page) => sessions.list(vaultId, undefined, page)),
      (session) => session,
    ),
  ];
}

function section<T>(
  name: Name,
  pages: AsyncIterable<readonly T[]>,
  viewOf: (thing: T) => object,
): ExportSection {
  return sectionOfPages(name, pages, async (page) => page.map(viewOf));
}

/** What the schema does not name is not written, whatever a view may carry. */
function sectionOfPages<T>(
  name: Name,
  pages: AsyncIterable<readonly T[]>,
  viewsOf: (page: readonly T[]) => Promise<readonly object[]>,
): ExportSection {
  const schema = exportItemSchemas[name];
  const shown = async function* (): AsyncGenerator<readonly object[]> {
    for await (const page of pages) yield (await viewsOf(page)).map((view) => schema.parse(view));
  };
  return { name, pages: shown() };
}

async function* attachmentsOf(
  policies: Pick<Stores['policies'], 'attachments'>,
  pages: AsyncIterable<readonly { readonly id: Id<'pol'> }[]>,
): AsyncGenerator<readonly object[]> {
  for await (const page of pages)
    for (const { id: policyId } of page)
      for await (const targets of pagesOf((request) => policies.attachments(policyId, request), {
        limit: PAGE,
        parts: 2,
      }))
        yield targets.map((target) => ({ policyId, ...toAttachmentView(target) }));
}

const toProxyExport = (proxy: Proxy): object => ({
  ...proxy,
  serviceName: proxy.serviceName ?? null,
  agentId: proxy.agentId ?? null,
  headerTemplates: proxy.headerTemplates ?? null,
  revokedAt: proxy.revokedAt ?? null,
  lastUsedAt: proxy.lastUsedAt ?? null,
});

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
      whenLocked: 'allowed',
      audit: ['ACCOUNT_EXPORTED'],
      limit: 'account_export',
      response: { status: 200, streams: accountExportSchema },
      handle: async ({ actor, transaction, exchange }) => {
        const now = formatTime(clock.now());
        await transaction((inside) => inside.audit.append(eventBy(actor, 'ACCOUNT_EXPORTED')));
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
