import { existsSync, readFileSync } from 'node:fs';
import tls from 'node:tls';

/** Where systems keep the certificates that they trust: Debian and Alpine, Fedora, openSUSE, older Red Hat. */
const SYSTEM_FILES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/ssl/ca-bundle.pem',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/cert.pem',
] as const;

/** The certificates that programs of this system trust, as PEM; those of Node where it names none. */
export function systemRoots(platform: NodeJS.Platform = process.platform): string {
  // The file of macOS does not have what its keychains add.
  const file = platform === 'darwin' ? undefined : SYSTEM_FILES.find((each) => existsSync(each));
  if (file !== undefined) return readFileSync(file, 'utf8');
  const system = 'getCACertificates' in tls ? tls.getCACertificates('system') : [];
  return (system.length > 0 ? system : tls.rootCertificates).join('\n');
}
