import type { MasterKeys } from '@svault/server-kit/master-keys';
import {
  type Clock,
  Secret,
  fromBase64url,
  randomToken,
  systemClock,
  toBase64url,
  utf8,
} from '@svault/shared';
import type { AssertionAlgorithm, Provider, StoredProvider } from '../core/provider.ts';

/** Authenticates a client at its provider (PROTOCOL.md section 7, `update`). */
type ClientAuthentication = { readonly clientSecret: Secret } | { readonly clientAssertion: Secret };

/** @throws AeadFailed when the secret was wrapped under another root key or for another provider */
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

/** @throws AeadFailed as above */
export function openProviderSecret(provider: StoredProvider, masterKeys: MasterKeys): Secret {
  const wrapped = fromBase64url(provider.secretWrapped);
  if (wrapped === undefined) throw new TypeError(`the wrapped secret of ${provider.id} is not base64url`);
  const opened = masterKeys.unwrap(wrapped, providerSecretPurpose(provider));
  return new Secret(Buffer.from(opened).toString('utf8'));
}

type Bound = Pick<Provider, 'authMethod' | 'clientId' | 'id' | 'tokenUrl' | 'vaultId'>;

/**
 * The context that a wrapped secret is bound to. It has the provider's address, so that a changed row of the database does
 * not send the secret to another provider.
 */
const providerSecretPurpose = ({ vaultId, id, authMethod, tokenUrl, clientId }: Bound): string =>
  `provider-secret:${JSON.stringify([vaultId, id, authMethod, tokenUrl, clientId])}`;

/** @param secret a client secret, or a private key as PEM */
export function wrapProviderSecret(provider: Bound, secret: Secret, masterKeys: MasterKeys): string {
  return toBase64url(masterKeys.wrap(utf8(secret.reveal()), providerSecretPurpose(provider)));
}

/** PROTOCOL.md REF-23. */
const LIFETIME_SECONDS = 60;

/**
 * Signs a client assertion (RFC 7523 section 3; OpenID Connect Core section 9, `private_key_jwt`) for one token URL, valid
 * once and for a minute.
 *
 * @param privateKey PEM, PKCS#8
 */
export async function signClientAssertion(
  { tokenUrl, clientId, algorithm, keyId }: AssertionFacts,
  privateKey: Secret,
  clock: Clock,
): Promise<Secret> {
  // Loaded on first use, since few accounts have such a provider.
  const { SignJWT, importPKCS8 } = await import('jose');
  const key = await importPKCS8(privateKey.reveal(), algorithm);
  const iat = Math.floor(clock.now() / 1000);
  const jwt = await new SignJWT()
    .setProtectedHeader({ alg: algorithm, ...(keyId !== undefined && { kid: keyId }) })
    .setIssuer(clientId)
    .setSubject(clientId)
    .setAudience(tokenUrl)
    .setIssuedAt(iat)
    .setExpirationTime(iat + LIFETIME_SECONDS)
    .setJti(randomToken())
    .sign(key);
  return new Secret(jwt);
}

interface AssertionFacts extends Pick<Provider, 'clientId' | 'keyId' | 'tokenUrl'> {
  readonly algorithm: AssertionAlgorithm;
}

/** Tries whether a key signs by an algorithm: a key of another type, or one that is too short, does not. */
export async function canSignBy(algorithm: AssertionAlgorithm, privateKey: Secret): Promise<boolean> {
  const facts = { tokenUrl: '', clientId: '', keyId: undefined, algorithm };
  // The error is dropped, since its text could quote the key.
  return signClientAssertion(facts, privateKey, systemClock).then(
    () => true,
    () => false,
  );
}
