import type { IncomingMessage } from 'node:http';
import type { Actor } from '../../core/actor.ts';
import {
  type Addressee,
  type AuthorizationRefusal,
  type RequestParameters,
  addresseeOf,
  refusalOf,
} from '../../authorization-server/authorization-request.ts';
import { isRegisteredRedirect } from '../../authorization-server/redirect-uri.ts';
import type { PageSession } from '../pages/page-session.ts';
import type { ClientDocuments } from '../../authorization-server/client-documents.ts';
import { findClient } from '../../authorization-server/find-client.ts';
import type { OauthClient } from '../../core/oauth-client.ts';
import type { Stores } from '../../core/stores.ts';
import type { PageReason } from './error-page-html.ts';

/** A person is signed in, and a client that may be answered where it says asks for something that there is. */
export interface Asked {
  readonly kind: 'asked';
  readonly actor: Actor;
  readonly client: OauthClient;
  readonly to: Addressee;
  readonly codeChallenge: string;
}

/** What comes of an authorization request before a person is asked. */
export type Settled =
  | Asked
  /** The person is told, and nobody else. */
  | { readonly kind: 'unanswerable'; readonly reason: PageReason; readonly detail?: string }
  | { readonly kind: 'nobody_signed_in' }
  /** The client is told. */
  | { readonly kind: 'refused'; readonly to: Addressee; readonly refusal: AuthorizationRefusal };

export type SettleRequest = (req: IncomingMessage, parameters: RequestParameters) => Promise<Settled>;

/**
 * Settles who asks whom. Until somebody is signed in, nothing leaves this service: no document is fetched, and no error is
 * brought to an address, since whoever can register one would have a redirector in us (RFC 9700 section 4.11.2).
 *
 * @param options.audience the one resource that there are tokens for
 */
export function createSettleRequest(options: {
  readonly stores: Pick<Stores, 'oauthClients'>;
  readonly documents: ClientDocuments;
  readonly pageSession: Pick<PageSession, 'actor'>;
  readonly audience: string;
}): SettleRequest {
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
    if (actor === undefined) return { kind: 'nobody_signed_in' };
    const client = known.kind === 'registered' ? known.client : await known.fetch();
    if (typeof client === 'string') return { kind: 'unanswerable', reason: client, detail: clientId };
    if (!mayAnswer(client)) return foreign;
    const refusal = refusalOf(parameters, audience);
    if (refusal !== undefined) return { kind: 'refused', to, refusal };
    return { kind: 'asked', actor, client, to, codeChallenge: parameters.get('code_challenge') ?? '' };
  };
}
