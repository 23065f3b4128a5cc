import type { MasterKeys } from '@svault/server-kit/master-keys';
import type { Clock, Secret } from '@svault/shared';
import { signClientAssertion } from './client-assertion.ts';
import { openProviderSecret } from './provider-secret.ts';
import type { StoredProvider } from '../core/provider.ts';

/** What proves a client to its provider (protocol.md section 7, `update`). */
export type ClientAuthentication = { readonly clientSecret: Secret } | { readonly clientAssertion: Secret };

/** @throws AeadFailed where the kept secret does not open */
export async function authenticateClient(
  provider: StoredProvider,
  masterKeys: MasterKeys,
  clock: Clock,
): Promise<ClientAuthentication> {
  const secret = openProviderSecret(provider, masterKeys);
  const { algorithm } = provider;
  if (provider.authMethod !== 'private_key_jwt' || algorithm === undefined) return { clientSecret: secret };
  return { clientAssertion: await signClientAssertion({ ...provider, algorithm }, secret, clock) };
}
