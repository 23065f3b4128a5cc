import type { Id } from '@svault/shared';
import type { ExportSection } from '../../management/account-export.ts';
import { type Page, type PageRequest, pagesOf } from '../../core/paging.ts';
import type { Proxy } from '../../core/proxy.ts';
import type { Stores } from '../../core/stores.ts';
import { exportItemSchemas } from './schemas/account-export.ts';
import { toAdminKeyView } from './schemas/account.ts';
import { toAgentView } from './schemas/agents.ts';
import { toFolderView } from './schemas/folders.ts';
import { toGrantView } from './schemas/grants.ts';
import { toAttachmentView, toPolicyView } from './schemas/policies.ts';
import { toProviderView } from './schemas/providers.ts';
import { toTokenView } from './schemas/tokens.ts';

export type ExportedStores = Pick<
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
export function exportSections(
  stores: ExportedStores,
  vaultId: Id<'vlt'>,
  now: string,
): readonly ExportSection[] {
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
