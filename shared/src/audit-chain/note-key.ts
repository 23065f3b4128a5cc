import {
  type KeyObject,
  createPrivateKey,
  createPublicKey,
  hash,
  sign as signEd25519,
  verify as verifyEd25519,
} from 'node:crypto';
import { isKeyName, readCheckpoint } from './checkpoint.ts';

/** Signature types of https://c2sp.org/signed-note: the log's own, and that of a cosigner, which has a time. */
type SignatureType = 1 | 4;
const ED25519 = 1;
const COSIGNATURE = 4;

const ED25519_KEY_BYTES = 32;
const TIME_BYTES = 8;
/** DER of RFC 8410 before the 32 bytes of a private key. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const VKEY = /^([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+=*)$/;

/** The public half of a key, as it is shown to who verifies notes. */
export interface NoteKey {
  readonly name: string;
  /** `log`: signs its own checkpoints. `cosigner`: signs those of others, with the time. */
  readonly role: 'log' | 'cosigner';
}

/**
 * A log's key, which signs notes by plain Ed25519.
 *
 * @param name the origin of the log
 * @param seed 32 bytes
 * @throws TypeError for a name that no key can have
 */
export function createLogKey(name: string, seed: Uint8Array) {
  const { privateKey, keyId, vkey } = createKey(name, seed, ED25519);
  return {
    vkey,
    /** @returns the signature line, which follows a text and an empty line */
    sign: (text: string): string =>
      signatureLine(name, keyId, signEd25519(null, Buffer.from(text), privateKey)),
  };
}

/**
 * A cosigner's key (https://c2sp.org/tlog-cosignature, `cosignature/v1`).
 *
 * @param name who cosigns
 * @param seed 32 bytes
 * @throws TypeError for a name that no key can have
 */
export function createCosignerKey(name: string, seed: Uint8Array) {
  const { privateKey, keyId, vkey } = createKey(name, seed, COSIGNATURE);
  return {
    vkey,
    /** @returns the signature line, which is put behind the lines of the note */
    cosign: (text: string, atMs: number): string => {
      const time = Buffer.alloc(TIME_BYTES);
      time.writeBigUInt64BE(BigInt(Math.floor(atMs / 1_000)));
      const signature = signEd25519(null, cosignedMessage(text, time), privateKey);
      return signatureLine(name, keyId, Buffer.concat([time, signature]));
    },
  };
}

/** @throws TypeError for a text that is no verifier key of these two types */
export function readNoteKey(vkey: string): NoteKey {
  const { name, type } = readVkey(vkey);
  return { name, role: type === ED25519 ? 'log' : 'cosigner' };
}

/**
 * Whether the holder of a key has signed a checkpoint. A note with a wrong signature of the key is not signed by it,
 * whatever other lines say.
 *
 * @throws TypeError for a note or a key that is malformed
 */
export function isSignedBy(note: string, vkey: string): boolean {
  const { name, type, keyId, publicKey } = readVkey(vkey);
  const { text, signatures } = readCheckpoint(note);
  const own = signatures.filter((one) => one.name === name && one.keyId.equals(keyId));
  const holds = (signature: Buffer): boolean =>
    type === ED25519
      ? verifyEd25519(null, Buffer.from(text), publicKey, signature)
      : signature.length > TIME_BYTES &&
        verifyEd25519(
          null,
          cosignedMessage(text, signature.subarray(0, TIME_BYTES)),
          publicKey,
          signature.subarray(TIME_BYTES),
        );
  return own.length > 0 && own.every(({ signature }) => holds(signature));
}

function createKey(name: string, seed: Uint8Array, type: SignatureType) {
  if (!isKeyName(name)) throw new TypeError('a key name has no white space and no plus');
  const der = Buffer.concat([PKCS8_PREFIX, seed]);
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const raw = Buffer.from(createPublicKey(privateKey).export({ format: 'jwk' }).x ?? '', 'base64url');
  const material = Buffer.concat([Buffer.of(type), raw]);
  const keyId = keyIdOf(name, material);
  const vkey = `${name}+${keyId.toString('hex')}+${material.toString('base64')}`;
  return { privateKey, keyId, vkey };
}

function readVkey(vkey: string): {
  readonly name: string;
  readonly type: SignatureType;
  readonly keyId: Buffer;
  readonly publicKey: KeyObject;
} {
  const [, name = '', keyId, encoded = ''] = VKEY.exec(vkey) ?? [];
  const material = Buffer.from(encoded, 'base64');
  const type = material[0];
  if (
    !isKeyName(name) ||
    material.toString('base64') !== encoded ||
    material.length !== ED25519_KEY_BYTES + 1
  )
    throw new TypeError('not a verifier key, which has the form NAME+HASH+KEY');
  if (type !== ED25519 && type !== COSIGNATURE) throw new TypeError('this verifier key is none of Ed25519');
  const expected = keyIdOf(name, material);
  if (expected.toString('hex') !== keyId) throw new TypeError('the hash in this verifier key is wrong');
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: material.subarray(1).toString('base64url') };
  return { name, type, keyId: expected, publicKey: createPublicKey({ key: jwk, format: 'jwk' }) };
}

const keyIdOf = (name: string, material: Buffer): Buffer =>
  hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), material]), 'buffer').subarray(0, 4);

const signatureLine = (name: string, keyId: Buffer, signature: Buffer): string =>
  `— ${name} ${Buffer.concat([keyId, signature]).toString('base64')}\n`;

const cosignedMessage = (text: string, time: Buffer): Buffer =>
  Buffer.from(`cosignature/v1\ntime ${time.readBigUInt64BE()}\n${text}`);
