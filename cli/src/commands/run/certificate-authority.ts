import { KeyObject, type webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import { AsnConvert } from '@peculiar/asn1-schema';
import { GeneralName, GeneralSubtree, GeneralSubtrees, NameConstraints } from '@peculiar/asn1-x509';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';

/** A certificate with its key, as `node:tls` takes them. */
export interface Leaf {
  readonly cert: string;
  readonly key: string;
}

/** Signs certificates for the hosts that it was made for. Its key is in this process alone. */
export interface CertificateAuthority {
  readonly pem: string;
  leafFor(hostname: string): Promise<Leaf>;
}

const KEY = { name: 'ECDSA', namedCurve: 'P-256' } as const;
const SIGNATURE = { name: 'ECDSA', hash: 'SHA-256' } as const;
/** No common name: GnuTLS takes that of a certificate for a host’s name, which the constraints exclude. */
const SUBJECT = 'O=svault run';
const DAY_MS = 24 * 60 * 60_000;
/** Longer than a command runs that nobody looks after. */
const VALID_MS = 30 * DAY_MS;
const NAME_CONSTRAINTS = '2.5.29.30';

/**
 * Makes a certificate authority in memory (RFC 5280). Programs that trust it take nothing from it but certificates of these hosts
 * and names below them (section 4.2.1.10).
 * @param hostnames names and IP addresses
 */
export async function createCertificateAuthority(
  hostnames: readonly string[],
): Promise<CertificateAuthority> {
  const validity = { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + VALID_MS) };
  const keys = await newKeys();
  const common = { issuer: SUBJECT, ...validity, signingAlgorithm: SIGNATURE, signingKey: keys.privateKey };
  const certificate = await X509CertificateGenerator.create({
    ...common,
    subject: SUBJECT,
    publicKey: keys.publicKey,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true),
      new Extension(NAME_CONSTRAINTS, true, AsnConvert.serialize(constraintsTo(hostnames))),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return {
    pem: `${certificate.toString('pem')}\n`,
    leafFor: async (hostname) => {
      const { publicKey, privateKey } = await newKeys();
      const leaf = await X509CertificateGenerator.create({
        ...common,
        subject: 'O=svault run leaf',
        publicKey,
        extensions: [
          new BasicConstraintsExtension(false, undefined, true),
          new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
          new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
          new SubjectAlternativeNameExtension([{ type: isIP(hostname) ? 'ip' : 'dns', value: hostname }]),
          await AuthorityKeyIdentifierExtension.create(keys.publicKey),
          await SubjectKeyIdentifierExtension.create(publicKey),
        ],
      });
      const key = KeyObject.from(privateKey).export({ type: 'pkcs8', format: 'pem' });
      return { cert: leaf.toString('pem'), key: String(key) };
    },
  };
}

const newKeys = (): Promise<webcrypto.CryptoKeyPair> =>
  crypto.subtle.generateKey(KEY, true, ['sign', 'verify']);

/** A kind of name that none of them is of is excluded as a whole: what is not constrained is allowed. */
function constraintsTo(hostnames: readonly string[]): NameConstraints {
  const names = hostnames.filter((name) => isIP(name) === 0).map((dNSName) => ({ dNSName }));
  const addresses = hostnames
    .filter((name) => isIP(name) !== 0)
    .map((address) => ({ iPAddress: `${address}/${isIP(address) === 4 ? 32 : 128}` }));
  const excluded = [
    ...(names.length === 0 ? [{ dNSName: '' }] : []),
    ...(addresses.length === 0 ? [{ iPAddress: '0.0.0.0/0' }, { iPAddress: '::/0' }] : []),
  ];
  return new NameConstraints({
    permittedSubtrees: subtrees([...names, ...addresses]),
    ...(excluded.length > 0 && { excludedSubtrees: subtrees(excluded) }),
  });
}

const subtrees = (names: readonly Partial<GeneralName>[]): GeneralSubtrees =>
  new GeneralSubtrees(names.map((name) => new GeneralSubtree({ base: new GeneralName(name) })));
