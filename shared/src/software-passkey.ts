import { createSign, generateKeyPairSync, randomBytes } from 'node:crypto';
import { sha256, toBase64url, utf8 } from './bytes.ts';

/** What of an answer to change, to see it refused. */
export interface AssertionChanges {
  readonly challenge?: string;
  readonly origin?: string;
  readonly rpId?: string;
  readonly type?: string;
  readonly userVerified?: boolean;
  readonly userPresent?: boolean;
  readonly crossOrigin?: boolean;
  readonly counter?: number;
  /** Of another passkey. */
  readonly id?: string;
}

const [USER_PRESENT, USER_VERIFIED, ATTESTED] = [0x01, 0x04, 0x40];

const uint = (major: number, value: number): Buffer =>
  value < 24
    ? Buffer.from([(major << 5) | value])
    : value < 256
      ? Buffer.from([(major << 5) | 24, value])
      : Buffer.from([(major << 5) | 25, value >> 8, value & 0xff]);
const bytes = (value: Uint8Array): Buffer => Buffer.concat([uint(2, value.byteLength), value]);
const text = (value: string): Buffer => Buffer.concat([uint(3, value.length), Buffer.from(value)]);

/** A passkey in software, of P-256: the form of its answers is made by hand, by Web Authentication Level 3. */
export function softwarePasskey({ origin, rpId }: { readonly origin: string; readonly rpId: string }) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const credentialId = randomBytes(32);
  const id = toBase64url(credentialId);
  let counter = 0;
  let userHandle = '';

  /** RFC 9052: {1: 2, 3: -7, -1: 1, -2: x, -3: y} */
  const cose = Buffer.concat([
    Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21]),
    bytes(Buffer.from(x, 'base64url')),
    Buffer.from([0x22]),
    bytes(Buffer.from(y, 'base64url')),
  ]);
  const authenticatorData = (flags: number, count: number, relyingParty: string): Buffer => {
    const head = Buffer.alloc(5);
    head.writeUInt8(flags, 0);
    head.writeUInt32BE(count, 1);
    return Buffer.concat([sha256(utf8(relyingParty)), head]);
  };
  const clientData = (type: string, challenge: string, at: string, crossOrigin = false): Buffer =>
    Buffer.from(JSON.stringify({ type, challenge, origin: at, crossOrigin }));

  const signed = (clientDataHash: Uint8Array, changes: AssertionChanges) => {
    counter += 1;
    const flags =
      (changes.userPresent === false ? 0 : USER_PRESENT) |
      (changes.userVerified === false ? 0 : USER_VERIFIED);
    const data = authenticatorData(flags, changes.counter ?? counter, changes.rpId ?? rpId);
    return { data, signature: createSign('sha256').update(data).update(clientDataHash).sign(privateKey) };
  };

  return {
    id,
    publicKey,
    /** The public key in COSE. */
    cose,
    /** `authenticatorGetAssertion` of CTAP 2.1 section 6.2, for anyone who makes the client data: authenticator data in CBOR. */
    assert: (clientDataHash: Uint8Array, changes: AssertionChanges = {}) => {
      const { data, signature } = signed(clientDataHash, changes);
      return { authData: bytes(data), signature, userHandle: Buffer.from(userHandle, 'base64url') };
    },
    /** `navigator.credentials.create` */
    create: (
      options: { readonly challenge: string; readonly user?: { readonly id: string } },
      changes: AssertionChanges = {},
    ) => {
      userHandle = options.user?.id ?? '';
      const flags = USER_PRESENT | ATTESTED | (changes.userVerified === false ? 0 : USER_VERIFIED);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(credentialId.length);
      const authData = Buffer.concat([
        authenticatorData(flags, counter, changes.rpId ?? rpId),
        Buffer.alloc(16),
        length,
        credentialId,
        cose,
      ]);
      const attestationObject = Buffer.concat([
        uint(5, 3),
        ...[text('fmt'), text('none'), text('attStmt'), uint(5, 0), text('authData'), bytes(authData)],
      ]);
      const client = clientData(
        changes.type ?? 'webauthn.create',
        changes.challenge ?? options.challenge,
        changes.origin ?? origin,
        changes.crossOrigin,
      );
      return {
        id,
        rawId: id,
        type: 'public-key',
        clientExtensionResults: {},
        response: {
          clientDataJSON: toBase64url(client),
          attestationObject: toBase64url(attestationObject),
          authenticatorData: toBase64url(authData),
          publicKey: toBase64url(publicKey.export({ type: 'spki', format: 'der' })),
          publicKeyAlgorithm: -7,
          transports: ['internal'],
        },
      };
    },
    /** `navigator.credentials.get` */
    get: (options: { readonly challenge: string }, changes: AssertionChanges = {}) => {
      const client = clientData(
        changes.type ?? 'webauthn.get',
        changes.challenge ?? options.challenge,
        changes.origin ?? origin,
        changes.crossOrigin,
      );
      const { data, signature } = signed(sha256(client), changes);
      const named = changes.id ?? id;
      return {
        id: named,
        rawId: named,
        type: 'public-key',
        clientExtensionResults: {},
        response: {
          clientDataJSON: toBase64url(client),
          authenticatorData: toBase64url(data),
          signature: toBase64url(signature),
        },
      };
    },
  };
}

export type SoftwarePasskey = ReturnType<typeof softwarePasskey>;
