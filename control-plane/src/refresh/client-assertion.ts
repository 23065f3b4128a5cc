import { type Clock, Secret, randomToken, systemClock } from '@svault/shared';
import type { AssertionAlgorithm, Provider } from '../core/provider.ts';

/** Protocol section 7: `exp` of an assertion. */
const LIFETIME_SECONDS = 60;

/**
 * Signs what a client proves itself by (RFC 7523 section 3; OpenID Connect Core section 9, `private_key_jwt`): for this
 * token URL alone, once, within a minute.
 *
 * @param privateKey PEM, PKCS#8
 */
export async function signClientAssertion(
  { tokenUrl, clientId, algorithm, keyId }: AssertionFacts,
  privateKey: Secret,
  clock: Clock,
): Promise<Secret> {
  // Loaded where it is used: few accounts have such a provider.
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

export interface AssertionFacts extends Pick<Provider, 'clientId' | 'keyId' | 'tokenUrl'> {
  readonly algorithm: AssertionAlgorithm;
}

/** Whether a key signs by an algorithm, by trying: a key of another kind, or too short a one, does not. */
export async function canSignBy(algorithm: AssertionAlgorithm, privateKey: Secret): Promise<boolean> {
  const facts = { tokenUrl: '', clientId: '', keyId: undefined, algorithm };
  // What is wrong with it is not told on: an error's text could quote the key.
  return signClientAssertion(facts, privateKey, systemClock).then(
    () => true,
    () => false,
  );
}
