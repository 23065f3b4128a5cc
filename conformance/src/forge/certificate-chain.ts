import { generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';

/** A certificate and its key, as an owner would have them from an authority. */
export interface CertificateChain {
  /** PEM: a leaf and the authority that signed it. */
  readonly certificate: string;
  /** PEM (PKCS #8) of the leaf. */
  readonly privateKey: string;
}

/** A new chain of two EC P-256 certificates (RFC 5280), good for a year. */
export function certificateChain(): CertificateChain {
  const [authority, leaf] = [newPair(), newPair()];
  const certificate =
    pem(certificateOf('leaf.example', leaf.publicKey, authority.privateKey, false)) +
    pem(certificateOf(AUTHORITY, authority.publicKey, authority.privateKey, true));
  return { certificate, privateKey: leaf.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}

const AUTHORITY = 'svault conformance';
const YEAR_MS = 31_536_000_000;
const newPair = (): { publicKey: KeyObject; privateKey: KeyObject } =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' });

/** DER tags. */
const [INTEGER, BIT_STRING, OCTET_STRING, OID, UTF8, UTC_TIME] = [
  0x02, 0x03, 0x04, 0x06, 0x0c, 0x17,
] as const;
const [BOOLEAN, SEQUENCE, SET, VERSION, EXTENSIONS] = [0x01, 0x30, 0x31, 0xa0, 0xa3] as const;
/** Object identifiers, encoded. */
const ECDSA_WITH_SHA256 = der(SEQUENCE, der(OID, Buffer.from('2a8648ce3d040302', 'hex')));
const COMMON_NAME = der(OID, Buffer.from('550403', 'hex'));
const BASIC_CONSTRAINTS = der(OID, Buffer.from('551d13', 'hex'));

function certificateOf(subject: string, key: KeyObject, signer: KeyObject, isAuthority: boolean): Buffer {
  const now = Date.now();
  const basicConstraints = der(SEQUENCE, ...(isAuthority ? [der(BOOLEAN, Buffer.of(0xff))] : []));
  const toBeSigned = der(
    SEQUENCE,
    der(VERSION, der(INTEGER, Buffer.of(2))),
    der(INTEGER, Buffer.concat([Buffer.of(1), randomBytes(8)])),
    ECDSA_WITH_SHA256,
    nameOf(AUTHORITY),
    der(SEQUENCE, timeOf(now - 60_000), timeOf(now + YEAR_MS)),
    nameOf(subject),
    key.export({ type: 'spki', format: 'der' }),
    der(EXTENSIONS, der(SEQUENCE, der(SEQUENCE, BASIC_CONSTRAINTS, der(OCTET_STRING, basicConstraints)))),
  );
  const signature = sign('sha256', toBeSigned, signer);
  return der(SEQUENCE, toBeSigned, ECDSA_WITH_SHA256, der(BIT_STRING, Buffer.of(0), signature));
}

const nameOf = (name: string): Buffer =>
  der(SEQUENCE, der(SET, der(SEQUENCE, COMMON_NAME, der(UTF8, Buffer.from(name)))));

/** Two digits of the year, which is right until 2049. */
const timeOf = (ms: number): Buffer =>
  der(UTC_TIME, Buffer.from(`${new Date(ms).toISOString().replace(/[-:T]/g, '').slice(2, 14)}Z`));

/** Tag, length, content (X.690 section 8.1). */
function der(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const bytes = Buffer.concat(content);
  const { length } = bytes;
  const head =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...head]), bytes]);
}

function pem(bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
