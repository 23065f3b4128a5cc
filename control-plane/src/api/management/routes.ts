import type { Router } from 'express';
import { createAccountExportRoutes } from './account-export.ts';
import { createAccountRoutes } from './account.ts';
import { createActiveAgentsRoute } from './active-agents.ts';
import { createActivitySeriesRoutes } from './activity-series.ts';
import { createAgentRoutes } from './agents.ts';
import { createAttentionRoutes } from './attention.ts';
import { createAuditEventRoutes } from './audit-events.ts';
import { createAuditExportRoute } from './audit-export.ts';
import { createAuditRoutes } from './audit.ts';
import { createManagementAuthenticator } from './authenticate-management.ts';
import type { ManagementDependencies } from './dependencies.ts';
import { createApprovalRoutes } from './approvals.ts';
import { createFolderRoutes } from './folders.ts';
import { createGrantRoutes } from './grants.ts';
import { createMemberRoutes } from './members.ts';
import { mountRoutes } from './mount-routes.ts';
import { createOpenApiRoute } from './openapi.ts';
import { createLimitRoutes } from './limits.ts';
import { createOverviewRoutes } from './overview.ts';
import { createNotificationRoutes } from './notifications.ts';
import { createPolicyPreviewRoute } from './policy-preview.ts';
import { createPolicyRoutes } from './policies.ts';
import { createProviderRoutes } from './providers.ts';
import { createProxyRoutes } from './proxies.ts';
import { createCliLoginRoutes, createLoginRoutes } from './sign-in.ts';
import { createReachRoutes } from './reach.ts';
import { createTokenRefreshRoutes } from './token-refresh.ts';
import { createTokenRoutes } from './tokens.ts';
import { createVaultRoutes } from './vault.ts';
import { createWebhookRoutes } from './webhook.ts';

/** The management API: every route with its OpenAPI document. Each noun's function names what it takes of these. */
export function createManagementApi(dependencies: ManagementDependencies): Router {
  const routes = [
    ...createLoginRoutes(dependencies),
    ...createCliLoginRoutes(dependencies),
    ...createAccountRoutes(dependencies),
    ...createMemberRoutes(dependencies),
    ...createAccountExportRoutes(dependencies),
    ...createOverviewRoutes(dependencies),
    ...createAttentionRoutes(dependencies),
    ...createLimitRoutes(dependencies),
    ...createActivitySeriesRoutes(dependencies),
    createActiveAgentsRoute(dependencies),
    ...createAgentRoutes(dependencies),
    ...createApprovalRoutes(dependencies),
    ...createNotificationRoutes(dependencies),
    ...createFolderRoutes(dependencies),
    ...createGrantRoutes(dependencies),
    ...createTokenRoutes(dependencies),
    ...createTokenRefreshRoutes(dependencies),
    ...createProviderRoutes(dependencies),
    // Before `/api/policies/{id}`, which its path fits too.
    createPolicyPreviewRoute(dependencies),
    ...createPolicyRoutes(dependencies),
    ...createProxyRoutes(dependencies),
    ...createReachRoutes(dependencies),
    ...createVaultRoutes(dependencies),
    ...createWebhookRoutes(dependencies),
    // Before a route by `/api/audit/{…}`, which its path would fit too.
    createAuditExportRoute(dependencies),
    ...createAuditRoutes(dependencies),
    ...createAuditEventRoutes(dependencies),
  ];
  // Last, since it describes the others.
  routes.push(createOpenApiRoute(routes, dependencies));
  return mountRoutes(routes, {
    ...dependencies,
    authenticate: createManagementAuthenticator(dependencies),
    authenticateAgain: createManagementAuthenticator({
      ...dependencies,
      stores: notingNoUse(dependencies.stores),
    }),
  });
}

function notingNoUse({ adminKeys, cliSessions, sessions }: ManagementDependencies['stores']) {
  const touch = (): Promise<void> => Promise.resolve();
  return { cliSessions, adminKeys: { ...adminKeys, touch }, sessions: { ...sessions, touch } };
}
