import { Router } from 'express';
import { createAuthorizePage } from './authorize.ts';
import { createMetadataEndpoints } from './metadata-endpoints.ts';
import { createRegisterEndpoint } from './register-endpoint.ts';
import { createIntrospectEndpoint, createRevokeEndpoint } from './token-status-endpoints.ts';
import { createTokenEndpoint } from './token-endpoint.ts';

/** The OAuth 2.1 authorization server: metadata, registration, authorization page, token, revocation, introspection. */
export const createOauthApi = (
  dependencies: Parameters<typeof createRegisterEndpoint>[0] &
    Parameters<typeof createTokenEndpoint>[0] &
    Parameters<typeof createRevokeEndpoint>[0] &
    Parameters<typeof createIntrospectEndpoint>[0] &
    Parameters<typeof createAuthorizePage>[0],
): Router =>
  Router()
    .use(createMetadataEndpoints(dependencies))
    .use(createRegisterEndpoint(dependencies))
    .use(createTokenEndpoint(dependencies))
    .use(createRevokeEndpoint(dependencies))
    .use(createIntrospectEndpoint(dependencies))
    .use(createAuthorizePage(dependencies));
