import type { Request, Response, Router } from 'express';
import { readBody } from '@svault/server-kit/raw-body';
import { type Clock, JsonRefused, parseTime, parseWireObject } from '@svault/shared';
import type { ClientAddress } from '../http/client-address.ts';
import { isJson } from '../management/parse-input.ts';
import type { RouteLimits } from '../http/route-limits.ts';
import {
  AUTH_METHOD,
  GRANT_TYPES,
  RESPONSE_TYPES,
  SCOPE,
} from '../../authorization-server/client-metadata.ts';
import { registerClient } from '../../authorization-server/registration.ts';
import type { RegisteredClient } from '../../core/oauth-client.ts';
import type { Stores } from '../../core/stores.ts';
import { OauthRefused, oauthEndpoint } from './token-response.ts';
import { OAUTH_PATHS } from './oauth-paths.ts';

/** Many times the metadata of any client. */
const MAX_BYTES = 16 * 1024;

/** The client registration endpoint (RFC 7591), open to anybody: a registered client may ask for consent, and nothing more. */
export function createRegisterEndpoint(options: {
  readonly stores: Pick<Stores, 'oauthClients'>;
  readonly limits: Pick<RouteLimits, 'countAddress'>;
  readonly clientAddress: ClientAddress;
  readonly clock: Clock;
}): Router {
  const { stores, limits, clientAddress, clock } = options;
  const handle = async (req: Request, res: Response): Promise<void> => {
    await limits.countAddress('oauth_register', req);
    const client = await registerClient(stores, await readMetadata(req), {
      clock,
      address: clientAddress(req),
    });
    if ('error' in client) throw new OauthRefused(client.error, client.error_description);
    res.status(201).json(answerOf(client));
  };
  return oauthEndpoint(OAUTH_PATHS.register, { anyOrigin: true, handle });
}

/** @throws OauthRefused; ApiError TOO_LARGE, INVALID_REQUEST for a body that ends early or is compressed */
async function readMetadata(req: Request): Promise<Record<string, unknown>> {
  if (isJson(req)) {
    const bytes = await readBody(req, { maxBytes: MAX_BYTES });
    try {
      return parseWireObject(bytes, { numbers: 'any' });
    } catch (error) {
      if (!(error instanceof JsonRefused)) throw error;
    }
  }
  throw new OauthRefused('invalid_client_metadata', 'send one JSON object as application/json');
}

/** RFC 7591 section 3.2.1: all that is registered, what was replaced included. */
const answerOf = ({ id, name, uri, redirectUris, createdAt }: RegisteredClient): object => ({
  client_id: id,
  client_id_issued_at: Math.floor((parseTime(createdAt) ?? 0) / 1_000),
  client_name: name,
  ...(uri !== undefined && { client_uri: uri }),
  redirect_uris: redirectUris,
  grant_types: GRANT_TYPES,
  response_types: RESPONSE_TYPES,
  token_endpoint_auth_method: AUTH_METHOD,
  scope: SCOPE,
});
