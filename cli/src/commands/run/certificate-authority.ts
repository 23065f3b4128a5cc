import { type KeyObject, X509Certificate, generateKeyPair, hash, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';
import { promisify } from 'node:util';
import {
  type BaseBlock,
  BitString,
  Boolean as Asn1Boolean,
  Constructed,
  GeneralizedTime,
  Integer,
  ObjectIdentifier,
  OctetString,
  Primitive,
  Sequence,
  Set as Asn1Set,
  UTCTime,
  Utf8String,
  fromBER,
} from 'asn1js';
import ipaddr from 'ipaddr.js';

/** A certificate and its private key as PEM, for `node:tls`. */
export interface Leaf {
  readonly cert: string;
  readonly key: string;
}

/** Signs certificates for the hosts that it was made for. Its private key never leaves this process. */
export interface CertificateAuthority {
  readonly pem: string;
  leafFor(hostname: string): Promise<Leaf>;
}

/** An organization, not a common name: GnuTLS takes that for a host name, which the constraints exclude. */
const SUBJECT = 'svault run';
const DAY_MS = 24 * 60 * 60_000;
/** Longer than any unattended command runs. */
const VALID_MS = 30 * DAY_MS;
const SERIAL_BYTES = 16;
/** The length of a SHA-1 digest, which some programs expect. */
const KEY_ID_BYTES = 20;
/** The context-specific tag class. */
const CONTEXT = 3;
const OIDS = {
  organization: '2.5.4.10',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  nameConstraints: '2.5.29.30',
  authorityKeyIdentifier: '2.5.29.35',
  extKeyUsage: '2.5.29.37',
} as const;
/** Bits 0 and 5 of `KeyUsage`. */
const DIGITAL_SIGNATURE = new BitString({ valueHex: Uint8Array.of(0x80), unusedBits: 7 });
const KEY_CERT_SIGN = new BitString({ valueHex: Uint8Array.of(0x04), unusedBits: 2 });
/** Tags of `GeneralName`. */
const DNS_NAME = 2;
const IP_ADDRESS = 7;

/**
 * Makes a certificate authority in memory (RFC 5280). Clients that trust it accept its certificates for these hosts and their
 * subdomains only (section 4.2.1.10).
 * @param hostnames names and IP addresses
 */
export async function createCertificateAuthority(
  hostnames: readonly string[],
): Promise<CertificateAuthority> {
  const { publicKey, privateKey } = await newKeys();
  const keyId = keyIdentifier(publicKey);
  const now = Date.now();
  const validity = sequence(timeOf(new Date(now - DAY_MS)), timeOf(new Date(now + VALID_MS)));
  const certificate = (subject: string, key: KeyObject, extensions: readonly BaseBlock[]): string => {
    const algorithm = sequence(new ObjectIdentifier({ value: OIDS.ecdsaWithSha256 }));
    const content = sequence(
      tagged(0, new Integer({ value: 2 })),
      serialNumber(),
      algorithm,
      nameOf(SUBJECT),
      validity,
      nameOf(subject),
      fromBER(spkiOf(key)).result,
      tagged(3, sequence(...extensions)),
    );
    const signature = sign('sha256', Buffer.from(content.toBER()), privateKey);
    return pemOf(sequence(content, algorithm, new BitString({ valueHex: signature })));
  };
  return {
    pem: certificate(SUBJECT, publicKey, [
      critical(OIDS.basicConstraints, sequence(new Asn1Boolean({ value: true }), new Integer({ value: 0 }))),
      critical(OIDS.keyUsage, KEY_CERT_SIGN),
      critical(OIDS.nameConstraints, constraintsTo(hostnames)),
      extension(OIDS.subjectKeyIdentifier, new OctetString({ valueHex: keyId })),
    ]),
    leafFor: async (hostname) => {
      const leaf = await newKeys();
      const cert = certificate('svault run leaf', leaf.publicKey, [
        critical(OIDS.basicConstraints, sequence()),
        critical(OIDS.keyUsage, DIGITAL_SIGNATURE),
        extension(OIDS.extKeyUsage, sequence(new ObjectIdentifier({ value: OIDS.serverAuth }))),
        extension(OIDS.subjectAltName, sequence(generalName(hostname))),
        extension(OIDS.authorityKeyIdentifier, sequence(primitive(0, keyId))),
        extension(OIDS.subjectKeyIdentifier, new OctetString({ valueHex: keyIdentifier(leaf.publicKey) })),
      ]);
      return { cert, key: String(leaf.privateKey.export({ type: 'pkcs8', format: 'pem' })) };
    },
  };
}

const newKeys = () => promisify(generateKeyPair)('ec', { namedCurve: 'P-256' });

const spkiOf = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' });

/** Section 4.2.1.2 allows any method that makes it unique. */
const keyIdentifier = (key: KeyObject): Buffer =>
  hash('sha256', spkiOf(key), 'buffer').subarray(0, KEY_ID_BYTES);

/** Positive, in the fewest bytes (section 4.1.2.2). */
function serialNumber(): Integer {
  const bytes = randomBytes(SERIAL_BYTES);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return new Integer({ valueHex: bytes });
}

/** Section 4.1.2.5. */
const timeOf = (valueDate: Date): UTCTime =>
  valueDate.getUTCFullYear() < 2050 ? new UTCTime({ valueDate }) : new GeneralizedTime({ valueDate });

const nameOf = (organization: string): Sequence =>
  sequence(
    new Asn1Set({
      value: [
        sequence(new ObjectIdentifier({ value: OIDS.organization }), new Utf8String({ value: organization })),
      ],
    }),
  );

const extension = (oid: string, value: BaseBlock, ...flags: Asn1Boolean[]): Sequence =>
  sequence(new ObjectIdentifier({ value: oid }), ...flags, new OctetString({ valueHex: value.toBER() }));

const critical = (oid: string, value: BaseBlock): Sequence =>
  extension(oid, value, new Asn1Boolean({ value: true }));

/** Excludes a type of name entirely if no host has it: types without constraints are unrestricted. */
function constraintsTo(hostnames: readonly string[]): Sequence {
  const addresses = hostnames.filter((name) => isIP(name) !== 0);
  const permitted = hostnames.map((name) => (isIP(name) === 0 ? generalName(name) : exactly(name)));
  const excluded = [
    ...(addresses.length === hostnames.length ? [primitive(DNS_NAME, Buffer.of())] : []),
    ...(addresses.length === 0 ? [4, 16].map((bytes) => primitive(IP_ADDRESS, Buffer.alloc(2 * bytes))) : []),
  ];
  const subtrees = (tagNumber: number, names: readonly Primitive[]): Constructed[] =>
    names.length === 0 ? [] : [tagged(tagNumber, ...names.map((name) => sequence(name)))];
  return sequence(...subtrees(0, permitted), ...subtrees(1, excluded));
}

const generalName = (hostname: string): Primitive =>
  isIP(hostname) === 0
    ? primitive(DNS_NAME, Buffer.from(hostname, 'latin1'))
    : primitive(IP_ADDRESS, addressBytes(hostname));

/** A range of one address: the address and its mask (section 4.2.1.10). */
function exactly(address: string): Primitive {
  const bytes = addressBytes(address);
  return primitive(IP_ADDRESS, Buffer.concat([bytes, Buffer.alloc(bytes.length, 0xff)]));
}

const addressBytes = (address: string): Buffer => Buffer.from(ipaddr.parse(address).toByteArray());

const sequence = (...value: BaseBlock[]): Sequence => new Sequence({ value });

const tagged = (tagNumber: number, ...value: BaseBlock[]): Constructed =>
  new Constructed({ idBlock: { tagClass: CONTEXT, tagNumber }, value });

const primitive = (tagNumber: number, valueHex: Buffer): Primitive =>
  new Primitive({ idBlock: { tagClass: CONTEXT, tagNumber }, valueHex });

const pemOf = (certificate: Sequence): string =>
  new X509Certificate(Buffer.from(certificate.toBER())).toString();
