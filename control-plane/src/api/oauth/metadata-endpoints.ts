import { Router } from 'express';
import { methodNotAllowed } from '@svault/server-kit/request-handler';
import {
  AUTH_METHOD,
  GRANT_TYPES,
  RESPONSE_TYPES,
  SCOPE,
} from '../../authorization-server/client-metadata.ts';
import { allowAnyOrigin } from './token-response.ts';
import {
  OAUTH_PATHS,
  RESOURCE_METADATA_PATH,
  SERVER_METADATA_PATH,
  metadataPathOf,
  resourceOf,
} from './oauth-paths.ts';

/** They change with releases only; short, so that a corrected document is seen soon. */
const CACHEABLE = 'public, max-age=300';

/** The two documents by which a client that got 401 discovers everything else. */
export function createMetadataEndpoints({ baseUrl }: { readonly baseUrl: string }): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const serve = (path: string, document: object): void => {
    const body = JSON.stringify(document);
    router
      .route(path)
      .all(allowAnyOrigin('GET'))
      .get((_req, res) => {
        res.setHeader('Cache-Control', CACHEABLE);
        res.type('json').send(body);
      })
      .all(methodNotAllowed(['GET', 'HEAD', 'OPTIONS']));
  };
  serve(RESOURCE_METADATA_PATH, resourceMetadata(baseUrl));
  serve(metadataPathOf(''), resourceMetadata(baseUrl));
  serve(metadataPathOf('/'), { ...resourceMetadata(baseUrl), resource: `${resourceOf(baseUrl)}/` });
  serve(SERVER_METADATA_PATH, serverMetadata(baseUrl));
  return router;
}

/** RFC 9728 section 2. */
const resourceMetadata = (baseUrl: string): object => ({
  resource: resourceOf(baseUrl),
  authorization_servers: [baseUrl],
  scopes_supported: [SCOPE],
  bearer_methods_supported: ['header'],
  resource_name: 'svault',
});

/** RFC 8414 section 2, with RFC 9207 section 3, RFC 9728 section 4 and draft-ietf-oauth-client-id-metadata-document. */
function serverMetadata(baseUrl: string): object {
  const at = (name: keyof typeof OAUTH_PATHS): string => baseUrl + OAUTH_PATHS[name];
  return {
    issuer: baseUrl,
    authorization_endpoint: at('authorize'),
    token_endpoint: at('token'),
    registration_endpoint: at('register'),
    revocation_endpoint: at('revoke'),
    introspection_endpoint: at('introspect'),
    scopes_supported: [SCOPE],
    response_types_supported: RESPONSE_TYPES,
    response_modes_supported: ['query'],
    grant_types_supported: GRANT_TYPES,
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: [AUTH_METHOD],
    revocation_endpoint_auth_methods_supported: [AUTH_METHOD],
    introspection_endpoint_auth_methods_supported: [AUTH_METHOD],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
    protected_resources: [resourceOf(baseUrl)],
  };
}
