import { existsSync, readFileSync } from 'node:fs';
import tls from 'node:tls';

/** Trust stores of Debian and Alpine, Fedora, openSUSE, older Red Hat, and others. */
const SYSTEM_FILES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/ssl/ca-bundle.pem',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/cert.pem',
] as const;

/** The root certificates of this system as PEM, or those of Node if it has none. */
export function systemRoots(platform: NodeJS.Platform = process.platform): string {
  // The file of macOS lacks the certificates in its keychains.
  const file = platform === 'darwin' ? undefined : SYSTEM_FILES.find((each) => existsSync(each));
  if (file !== undefined) return readFileSync(file, 'utf8');
  const system = 'getCACertificates' in tls ? tls.getCACertificates('system') : [];
  return (system.length > 0 ? system : tls.rootCertificates).join('\n');
}
