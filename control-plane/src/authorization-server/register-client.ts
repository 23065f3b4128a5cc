import { type Clock, formatTime, newId } from '@svault/shared';
import { addressGroup } from '../core/address.ts';
import type { Stores } from '../core/stores.ts';
import {
  type ClientMetadata,
  clientMetadataSchema,
  nameIn,
  pageIn,
  usableRedirects,
  wantsCodeFlow,
} from './client-metadata.ts';
import { evictNeverUsed } from './client-use.ts';
import type { RegisteredClient } from '../core/oauth-client.ts';

/** RFC 7591 section 3.2.2. */
export interface RegistrationRefusal {
  readonly error: 'invalid_redirect_uri' | 'invalid_client_metadata';
  readonly error_description: string;
}

const UNNAMED = 'an unnamed client';

/**
 * Takes down what a client says about itself (RFC 7591). It proves nothing and is given no secret; what it asked for that there
 * is not is replaced, as section 3.2.1 allows, and the answer says what holds.
 *
 * @param metadata as it was sent, a JSON object
 * @param options.address where it came from
 */
export async function registerClient(
  stores: Pick<Stores, 'oauthClients'>,
  metadata: Readonly<Record<string, unknown>>,
  { clock, address }: { readonly clock: Clock; readonly address: string | undefined },
): Promise<RegisteredClient | RegistrationRefusal> {
  const parsed = clientMetadataSchema.safeParse(metadata);
  if (!parsed.success) return malformed(parsed.error.issues.map(({ path }) => path.map(String)));
  const { data } = parsed;
  const refusal = refusalOf(data);
  if (refusal !== undefined) return refusal;
  const client: RegisteredClient = {
    id: newId('ocl'),
    name: nameIn(data, UNNAMED),
    uri: pageIn(data),
    redirectUris: usableRedirects(data),
    createdAt: formatTime(clock.now()),
  };
  await stores.oauthClients.add(client, addressGroup(address));
  await evictNeverUsed(stores, clock);
  return client;
}

function malformed(paths: readonly (readonly string[])[]): RegistrationRefusal {
  const names = [...new Set(paths.map(([name]) => name ?? ''))].join(', ');
  const ofRedirects = paths.some(([name]) => name === 'redirect_uris');
  return {
    error: ofRedirects ? 'invalid_redirect_uri' : 'invalid_client_metadata',
    error_description: `missing, malformed or too much: ${names}`,
  };
}

function refusalOf(metadata: ClientMetadata): RegistrationRefusal | undefined {
  if (usableRedirects(metadata).length < new Set(metadata.redirect_uris).size)
    return {
      error: 'invalid_redirect_uri',
      error_description:
        'a redirect URI is https, http on 127.0.0.1, [::1] or localhost, or of a scheme of your own (com.example.app:/cb)',
    };
  if (!wantsCodeFlow(metadata))
    return {
      error: 'invalid_client_metadata',
      error_description: 'there is the grant type authorization_code, with the response type code',
    };
  return undefined;
}
