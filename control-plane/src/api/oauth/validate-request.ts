import type { IncomingMessage } from 'node:http';
import type { Actor } from '../../core/actor.ts';
import {
  type Addressee,
  type AuthorizationError,
  type RequestParameters,
  addresseeOf,
  requestError,
} from '../../authorization-server/authorization-request.ts';
import { isRegisteredRedirect } from '../../authorization-server/redirect-uri.ts';
import type { PageSession } from '../pages/page-session.ts';
import type { ClientDocuments } from '../../authorization-server/client-metadata-documents.ts';
import { findClient } from '../../authorization-server/clients.ts';
import type { OauthClient } from '../../core/oauth-client.ts';
import type { Stores } from '../../core/stores.ts';
import type { PageReason } from './error-page-html.ts';

/** A valid request of a known client, with a signed-in user to ask for consent. */
export interface ValidRequest {
  readonly kind: 'valid';
  readonly actor: Actor;
  readonly client: OauthClient;
  readonly to: Addressee;
  readonly codeChallenge: string;
}

/** The outcome of validating an authorization request, before the user is asked. */
export type Validation =
  | ValidRequest
  /** The error is shown to the user, since no redirect URI is trusted (RFC 6749 section 4.1.2.1). */
  | { readonly kind: 'unanswerable'; readonly reason: PageReason; readonly detail?: string }
  | { readonly kind: 'not_signed_in' }
  /** The error is sent to the client. */
  | { readonly kind: 'invalid'; readonly to: Addressee; readonly error: AuthorizationError };

type ValidateRequest = (req: IncomingMessage, parameters: RequestParameters) => Promise<Validation>;

/**
 * Validates an authorization request. Until a user is signed in, no document is fetched and no error is sent to a redirect URI,
 * since anybody can register one and would have an open redirector (RFC 9700 section 4.11.2).
 * @param options.audience the only resource of this server
 */
export function createValidateRequest(options: {
  readonly stores: Pick<Stores, 'oauthClients'>;
  readonly documents: ClientDocuments;
  readonly pageSession: Pick<PageSession, 'actor'>;
  readonly audience: string;
}): ValidateRequest {
  const { pageSession, audience } = options;
  return async (req, parameters) => {
    const to = addresseeOf(parameters);
    if (typeof to === 'string') return { kind: 'unanswerable', reason: to };
    const { clientId, redirectUri } = to;
    const foreign = { kind: 'unanswerable', reason: 'foreign_redirect', detail: redirectUri } as const;
    const mayAnswer = ({ redirectUris }: OauthClient): boolean =>
      isRegisteredRedirect(redirectUris, redirectUri);

    const known = await findClient(clientId, options);
    if (known.kind === 'unknown') return { kind: 'unanswerable', reason: 'unknown_client', detail: clientId };
    if (known.kind === 'registered' && !mayAnswer(known.client)) return foreign;
    const actor = await pageSession.actor(req);
    if (actor === undefined) return { kind: 'not_signed_in' };
    const client = known.kind === 'registered' ? known.client : await known.fetch();
    if (typeof client === 'string') return { kind: 'unanswerable', reason: client, detail: clientId };
    if (!mayAnswer(client)) return foreign;
    const error = requestError(parameters, audience);
    if (error !== undefined) return { kind: 'invalid', to, error };
    return { kind: 'valid', actor, client, to, codeChallenge: parameters.get('code_challenge') ?? '' };
  };
}
