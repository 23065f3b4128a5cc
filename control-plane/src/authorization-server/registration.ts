import { type Clock, formatTime, newId } from '@svault/shared';
import { addressGroup } from '../core/address.ts';
import type { RegisteredClient } from '../core/oauth-client.ts';
import type { Stores } from '../core/stores.ts';
import { clientMetadataSchema, nameIn, pageIn, usableRedirects, wantsCodeFlow } from './client-metadata.ts';

/** RFC 7591 section 3.2.2. */
interface RegistrationError {
  readonly error: 'invalid_redirect_uri' | 'invalid_client_metadata';
  readonly error_description: string;
}

const UNNAMED = 'an unnamed client';
/** Anybody may register, so never-used clients are bounded by size (`store/waiting-rows.ts`). */
const MAX_NEVER_USED_BYTES = 8 * 1024 * 1024;
/** A client stays for this long after a user was asked about it. */
const ASKED_MS = 3_600_000;

/**
 * Registers a client (RFC 7591). It is public and gets no secret; metadata that this server does not support are replaced, as
 * section 3.2.1 allows, and the response says what was registered.
 * @param metadata as it was sent, a JSON object
 * @param options.address the client's IP address
 */
export async function registerClient(
  stores: Pick<Stores, 'oauthClients'>,
  metadata: Readonly<Record<string, unknown>>,
  { clock, address }: { readonly clock: Clock; readonly address: string | undefined },
): Promise<RegisteredClient | RegistrationError> {
  const parsed = clientMetadataSchema.safeParse(metadata);
  if (!parsed.success) {
    const members = [...new Set(parsed.error.issues.map(({ path }) => String(path[0] ?? '')))];
    return {
      error: members.includes('redirect_uris') ? 'invalid_redirect_uri' : 'invalid_client_metadata',
      error_description: `missing, malformed or too much: ${members.join(', ')}`,
    };
  }
  const { data } = parsed;
  const redirectUris = usableRedirects(data);
  if (redirectUris.length < new Set(data.redirect_uris).size)
    return {
      error: 'invalid_redirect_uri',
      error_description:
        'a redirect URI is https, http on 127.0.0.1, [::1] or localhost, or of a scheme of your own (com.example.app:/cb)',
    };
  if (!wantsCodeFlow(data))
    return {
      error: 'invalid_client_metadata',
      error_description: 'there is the grant type authorization_code, with the response type code',
    };
  const client: RegisteredClient = {
    id: newId('ocl'),
    name: nameIn(data, UNNAMED),
    uri: pageIn(data),
    redirectUris,
    createdAt: formatTime(clock.now()),
  };
  await stores.oauthClients.add(client, addressGroup(address));
  await evictNeverUsed(stores, clock);
  return client;
}

/** Makes room among the clients that were never used. */
export async function evictNeverUsed(
  stores: Pick<Stores, 'oauthClients'>,
  clock: Clock,
  maxBytes = MAX_NEVER_USED_BYTES,
): Promise<void> {
  const askedSince = formatTime(clock.now() - ASKED_MS);
  await stores.oauthClients.evictNeverUsed({ maxBytes, askedSince });
}
