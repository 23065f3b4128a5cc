import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
} from '@tanstack/react-router';
import { AGENT_TABS, type AgentTab } from './agents/tabs.ts';
import type { AgentPage } from './api/queries.ts';
import type { ProxyPage } from './connect/queries.ts';
import type { CredentialPage } from './credentials/queries.ts';
import { type LogFilter, readFilter } from './events/log-filter.ts';
import { Home } from './home/home.tsx';
import { BrokenScreen, NotFound } from './parts/failure.tsx';
import { REQUEST_SEARCH } from './policies/request-search.ts';
import type { ReachSearch } from './reach/queries.ts';
import { Shell } from './shell/shell.tsx';

const rootRoute = createRootRouteWithContext<{ readonly queryClient: QueryClient }>()({ component: Shell });

const homeRoute = createRoute({ getParentRoute: () => rootRoute, path: '/', component: Home });

const TOKEN_TYPES = ['PlainText', 'JWT', 'Certificate', 'SSHKey', 'RawCredential', 'TOTP'] as const;
const AGENT_STATUSES = ['active', 'suspended', 'deleted'] as const;

const agentsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/agents',
  validateSearch: (search): AgentPage => ({
    name: textOf(search['name']),
    status: AGENT_STATUSES.find((status) => status === search['status']),
    cursor: textOf(search['cursor']),
  }),
  component: lazyRouteComponent(() => import('./agents/agent-list.tsx'), 'AgentList'),
});

const newAgentRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/agents/new',
  component: lazyRouteComponent(() => import('./agents/new-agent.tsx'), 'NewAgent'),
});

/** A part of the screen of an agent, and the pages of the lists in it. */
interface AgentSearch {
  readonly tab?: AgentTab | undefined;
  readonly grants?: string | undefined;
  readonly sessions?: string | undefined;
}

const agentRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/agents/$id',
  validateSearch: (search): AgentSearch => ({
    tab: AGENT_TABS.find((tab) => tab === search['tab']),
    grants: textOf(search['grants']),
    sessions: textOf(search['sessions']),
  }),
  component: lazyRouteComponent(() => import('./agents/agent-detail.tsx'), 'AgentDetail'),
});

const policiesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/policies',
  validateSearch: (search) => textsOf(search, 'name', 'cursor'),
  component: lazyRouteComponent(() => import('./policies/policy-list.tsx'), 'PolicyList'),
});

const newPolicyRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/policies/new',
  validateSearch: (search) => textsOf(search, 'from', 'rule'),
  component: lazyRouteComponent(() => import('./policies/new-policy.tsx'), 'NewPolicy'),
});

const simulateRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/policies/simulate',
  validateSearch: (search) => textsOf(search, ...REQUEST_SEARCH),
  component: lazyRouteComponent(() => import('./policies/simulator.tsx'), 'Simulator'),
});

const policyRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/policies/$id',
  validateSearch: (search) => textsOf(search, 'cursor'),
  component: lazyRouteComponent(() => import('./policies/policy-detail.tsx'), 'PolicyDetail'),
});

const editPolicyRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/policies/$id/edit',
  validateSearch: (search) => textsOf(search, ...REQUEST_SEARCH, 'allow'),
  component: lazyRouteComponent(() => import('./policies/edit-policy.tsx'), 'EditPolicy'),
});

const approvalsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/approvals',
  validateSearch: (search) => textsOf(search, 'cursor'),
  component: lazyRouteComponent(() => import('./approvals/approval-list.tsx'), 'ApprovalList'),
});

const approvalRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/approvals/$id',
  component: lazyRouteComponent(() => import('./approvals/approval-detail.tsx'), 'ApprovalDetail'),
});

const webhookRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/webhook',
  component: lazyRouteComponent(() => import('./webhook/webhook-screen.tsx'), 'WebhookScreen'),
});

const peopleRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/people',
  validateSearch: (search) => textsOf(search, 'name', 'cursor', 'keys'),
  component: lazyRouteComponent(() => import('./people/people.tsx'), 'People'),
});

const limitsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/limits',
  validateSearch: (search) => textsOf(search, 'callerId'),
  component: lazyRouteComponent(() => import('./limits/limits.tsx'), 'Limits'),
});

const accountRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/account',
  validateSearch: (search) => textsOf(search, 'cursor'),
  component: lazyRouteComponent(() => import('./account/account.tsx'), 'Account'),
});

const reachRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/reach',
  validateSearch: (search): ReachSearch => textsOf(search, 'agent', 'proxy', 'credential', 'cursor', 'cell'),
  component: lazyRouteComponent(() => import('./reach/reach.tsx'), 'ReachScreen'),
});

const connectRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/connect',
  validateSearch: (search): ProxyPage => textsOf(search, 'name', 'cursor'),
  component: lazyRouteComponent(() => import('./connect/proxy-list.tsx'), 'ConnectScreen'),
});

const newProxyRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/connect/new',
  component: lazyRouteComponent(() => import('./connect/new-proxy.tsx'), 'NewProxy'),
});

const importServersRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/connect/import',
  component: lazyRouteComponent(() => import('./connect/import-servers.tsx'), 'ImportServers'),
});

const proxyRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/connect/$id',
  component: lazyRouteComponent(() => import('./connect/proxy-detail.tsx'), 'ProxyDetail'),
});

/** The members of an address that a screen reads, where they are texts. */
const textsOf = <Name extends string>(
  search: Record<string, unknown>,
  ...names: readonly Name[]
): { readonly [N in Name]?: string } =>
  Object.fromEntries(
    names.flatMap((name) =>
      typeof search[name] === 'string' && search[name] !== '' ? [[name, search[name]]] : [],
    ),
  ) as { readonly [N in Name]?: string };

const credentialsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/credentials',
  validateSearch: (search): CredentialPage => ({
    name: textOf(search['name']),
    type: TOKEN_TYPES.find((type) => type === search['type']),
    folder: textOf(search['folder']),
    cursor: textOf(search['cursor']),
  }),
  component: lazyRouteComponent(() => import('./credentials/credential-list.tsx'), 'CredentialList'),
});

const credentialRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/credentials/$serviceName',
  component: lazyRouteComponent(() => import('./credentials/credential-detail.tsx'), 'CredentialDetail'),
});

const kindInSearch = (search: Record<string, unknown>): { readonly kind?: string | undefined } => ({
  kind: textOf(search['kind']),
});

const replaceSecretRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/credentials/$serviceName/secret',
  validateSearch: kindInSearch,
  component: lazyRouteComponent(() => import('./credentials/replace-secret.tsx'), 'ReplaceSecret'),
});

/** Not below `/credentials`, where a credential can have any name. */
const addCredentialRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/add-credential',
  validateSearch: kindInSearch,
  component: lazyRouteComponent(() => import('./credentials/add-credential.tsx'), 'AddCredential'),
});

const activityRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/activity',
  validateSearch: (
    search,
  ): LogFilter & { readonly cursor?: string | undefined; readonly follow?: 'on' | undefined } => ({
    ...readFilter(search),
    cursor: textOf(search['cursor']),
    follow: search['follow'] === 'on' ? 'on' : undefined,
  }),
  component: lazyRouteComponent(() => import('./activity/activity-list.tsx'), 'ActivityList'),
});

const eventRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/activity/$seq',
  component: lazyRouteComponent(() => import('./activity/event-detail.tsx'), 'EventDetail'),
});

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** All screens; the server has the list of their addresses, too (`control-plane/src/api/console/screens.ts`). */
export const createConsoleRouter = (queryClient: QueryClient) =>
  createRouter({
    routeTree: rootRoute.addChildren([
      homeRoute,
      agentsRoute,
      newAgentRoute,
      agentRoute,
      credentialsRoute,
      credentialRoute,
      replaceSecretRoute,
      addCredentialRoute,
      policiesRoute,
      newPolicyRoute,
      simulateRoute,
      policyRoute,
      editPolicyRoute,
      approvalsRoute,
      approvalRoute,
      webhookRoute,
      peopleRoute,
      limitsRoute,
      accountRoute,
      reachRoute,
      activityRoute,
      eventRoute,
      connectRoute,
      newProxyRoute,
      importServersRoute,
      proxyRoute,
    ]),
    context: { queryClient },
    defaultPreload: 'intent',
    defaultErrorComponent: BrokenScreen,
    defaultNotFoundComponent: NotFound,
    scrollRestoration: false,
    // A filter is read and shared as it is typed, not as JSON.
    parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
    stringifySearch: (search) => {
      const given = Object.entries(search).filter(([, value]) => typeof value === 'string' && value !== '');
      const text = new URLSearchParams(given as [string, string][]).toString();
      return text === '' ? '' : `?${text}`;
    },
  });

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>;
  }
}
