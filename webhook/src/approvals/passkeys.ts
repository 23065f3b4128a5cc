import { isIP } from 'node:net';
import { fromBase64url, toBase64url } from '@svault/shared';
import * as z from 'zod';
import type { Approver } from './approval-store.ts';

const base64url = (maxCharacters: number) =>
  z
    .string()
    .max(maxCharacters)
    .regex(/^[A-Za-z0-9_-]+$/, 'not base64url');

const credentialMembers = {
  id: base64url(1400),
  rawId: base64url(1400),
  type: z.literal('public-key'),
  clientExtensionResults: z.looseObject({}).default({}),
};

/**
 * Web Authentication Level 3, `AuthenticationResponseJSON`. Tools of security keys give the user handle and no id, browsers
 * both.
 */
export const assertionSchema = z
  .object({
    ...credentialMembers,
    id: credentialMembers.id.optional(),
    rawId: credentialMembers.rawId.optional(),
    response: z.object({
      clientDataJSON: base64url(2048),
      authenticatorData: base64url(1024),
      signature: base64url(1024),
      userHandle: base64url(86).optional(),
    }),
  })
  .refine(({ id, response }) => (id ?? response.userHandle) !== undefined, 'neither id nor user handle');
export type Assertion = z.infer<typeof assertionSchema>;

/** Web Authentication Level 3, `RegistrationResponseJSON`. */
export const registrationSchema = z.object({
  ...credentialMembers,
  response: z.object({ clientDataJSON: base64url(2048), attestationObject: base64url(8 * 1024) }),
});
export type Registration = z.infer<typeof registrationSchema>;

/** COSE: EdDSA, ES256 and RS256, which all authenticators of this day have one of. */
const ALGORITHMS = [-8, -7, -257];
const TIMEOUT_MS = 5 * 60_000;

/** Why a passkey cannot be used at a webhook's address (Web Authentication, "Relying Party Identifier"); undefined if it can. */
export function passkeyProblem(webhookUrl: string): string | undefined {
  const { hostname, protocol } = new URL(webhookUrl);
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return 'a passkey needs a host name, and no address';
  return protocol === 'https:' || hostname === 'localhost' || hostname.endsWith('.localhost')
    ? undefined
    : 'a passkey needs https';
}

/**
 * Of an answer that the library has verified, which takes one that was given in a frame of another origin's page.
 *
 * @throws Error
 */
function mustBeTopLevel(clientDataJSON: string): void {
  const { crossOrigin = false } = JSON.parse(String(fromBase64url(clientDataJSON))) as {
    crossOrigin?: unknown;
  };
  if (crossOrigin !== false) throw new Error('the passkey was used in a frame of another origin');
}

/**
 * Passkeys at the webhook's own address: its origin, its host name as the relying party, and always with the person
 * verified. The library takes memory and time to load, so it is loaded at first use.
 */
export function createPasskeys(webhookUrl: string) {
  const { origin, hostname: rpId } = new URL(webhookUrl);
  const load = () => import('@simplewebauthn/server');
  const expected = { expectedOrigin: origin, expectedRPID: rpId, requireUserVerification: true } as const;

  return {
    /** `PublicKeyCredentialRequestOptionsJSON`, for whichever passkey of this webhook the person has. */
    requestOptions: (challenge: Uint8Array) => ({
      challenge: toBase64url(challenge),
      rpId,
      timeout: TIMEOUT_MS,
      userVerification: 'required',
      allowCredentials: [],
    }),
    /** `PublicKeyCredentialCreationOptionsJSON` */
    creationOptions: (options: {
      readonly challenge: Uint8Array;
      readonly userId: Uint8Array;
      readonly name: string;
      readonly known: readonly Approver[];
    }) => ({
      challenge: toBase64url(options.challenge),
      rp: { id: rpId, name: `svault webhook ${rpId}` },
      user: { id: toBase64url(options.userId), name: options.name, displayName: options.name },
      pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
      timeout: TIMEOUT_MS,
      attestation: 'none',
      excludeCredentials: options.known.map(({ credentialId }) => ({ type: 'public-key', id: credentialId })),
      authenticatorSelection: {
        residentKey: 'required',
        requireResidentKey: true,
        userVerification: 'required',
      },
    }),
    /** @throws Error saying why the assertion is not one of this approver's for this challenge */
    verifyAssertion: async (
      response: Assertion,
      challenge: Uint8Array,
      { credentialId, publicKey, counter }: Approver,
    ): Promise<{ readonly counter: number }> => {
      const { verifyAuthenticationResponse } = await load();
      const { userHandle: _found, ...signed } = response.response;
      const { verified, authenticationInfo } = await verifyAuthenticationResponse({
        ...expected,
        response: { ...response, id: credentialId, rawId: credentialId, response: signed },
        expectedChallenge: toBase64url(challenge),
        credential: { id: credentialId, publicKey: Uint8Array.from(publicKey), counter },
      });
      if (!verified) throw new Error('the signature is not one of this passkey');
      mustBeTopLevel(response.response.clientDataJSON);
      return { counter: authenticationInfo.newCounter };
    },
    /** @throws Error saying why there is no new passkey for this challenge */
    verifyRegistration: async (
      response: Registration,
      challenge: Uint8Array,
    ): Promise<Pick<Approver, 'credentialId' | 'publicKey' | 'counter'>> => {
      const { verifyRegistrationResponse } = await load();
      const { registrationInfo } = await verifyRegistrationResponse({
        ...expected,
        response,
        expectedChallenge: toBase64url(challenge),
        supportedAlgorithmIDs: ALGORITHMS,
      });
      if (registrationInfo === undefined) throw new Error('the attestation does not verify');
      mustBeTopLevel(response.response.clientDataJSON);
      const { id, publicKey, counter } = registrationInfo.credential;
      return { credentialId: id, publicKey, counter };
    },
  };
}

export type Passkeys = ReturnType<typeof createPasskeys>;
