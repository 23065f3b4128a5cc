import { jwkThumbprint } from '@svault/shared/sealed';
import { publicJwk } from '../public-jwk.ts';

/**
 * Which public key sealed credentials are for.
 * @param text as `publicJwk` takes it
 * @returns its RFC 7638 thumbprint
 * @throws Failure usage
 */
export const sealingKeyThumbprint = async (text: string): Promise<string> =>
  jwkThumbprint(await publicJwk(text));
