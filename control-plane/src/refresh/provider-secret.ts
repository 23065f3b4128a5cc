import type { MasterKeys } from '@svault/server-kit/master-keys';
import { Secret, fromBase64url, toBase64url, utf8 } from '@svault/shared';
import type { Provider, StoredProvider } from '../core/provider.ts';

type Bound = Pick<Provider, 'authMethod' | 'clientId' | 'id' | 'tokenUrl' | 'vaultId'>;

/**
 * What a wrapped secret is bound to: not only its row, so that whoever can change a row of the database cannot have the
 * secret used for another provider.
 */
const providerSecretPurpose = ({ vaultId, id, authMethod, tokenUrl, clientId }: Bound): string =>
  `provider-secret:${JSON.stringify([vaultId, id, authMethod, tokenUrl, clientId])}`;

/** @param secret a client secret, or a private key as PEM */
export function wrapProviderSecret(provider: Bound, secret: Secret, masterKeys: MasterKeys): string {
  return toBase64url(masterKeys.wrap(utf8(secret.reveal()), providerSecretPurpose(provider)));
}

/** @throws AeadFailed when it was wrapped under another master key or for another provider */
export function openProviderSecret(provider: StoredProvider, masterKeys: MasterKeys): Secret {
  const wrapped = fromBase64url(provider.secretWrapped);
  if (wrapped === undefined) throw new TypeError(`the wrapped secret of ${provider.id} is no base64url`);
  return new Secret(
    Buffer.from(masterKeys.unwrap(wrapped, providerSecretPurpose(provider))).toString('utf8'),
  );
}
