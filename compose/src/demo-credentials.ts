import { createHmac, generateKeyPairSync, randomBytes } from 'node:crypto';
import { base32Bytes, randomToken } from '@svault/shared';
import { generate } from 'selfsigned';
import { type DemoOutside, INSTALLATION } from './demo-outside.ts';

export interface DemoCredential {
  readonly serviceName: string;
  readonly kind: string;
  readonly body: { readonly tokenType: string } & Record<string, unknown>;
  /** Whether it is what `accessToken` must be when it is delivered. */
  readonly isRight: (accessToken: string) => boolean;
}

/** One that is delivered as it was stored. */
export interface StoredCredential extends DemoCredential {
  readonly delivered: string;
}

/**
 * One credential of every type that the webhook stores or makes on demand, and one that is sealed for a recipient. Each is
 * made anew, so that nothing secret lies in the repository.
 */
export async function demoCredentials(
  recipient: object,
  outside: DemoOutside,
): Promise<{
  /** Any proxy may send it to the MCP server outside. */
  readonly first: StoredCredential;
  readonly others: readonly DemoCredential[];
  readonly sealed: StoredCredential;
}> {
  const certificate = await generate([{ name: 'commonName', value: 'svault demo' }]);
  const ssh = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const { cert, private: privateKey } = certificate;
  const recipients = [recipient];
  return {
    first: stored('github', 'PlainText', (value) => ({ value, allowedHosts: [outside.url] })),
    others: [
      refreshed(outside),
      stored('mail-gateway', 'Certificate', (chain) => ({ certificate: chain, privateKey }), cert),
      stored('build-host', 'SSHKey', (key) => ({ privateKey: key }), ssh),
      stored('warehouse', 'RawCredential', (value) => ({ value })),
      oneTimeCode(),
      awsRole(outside),
      await githubApp(outside),
    ],
    sealed: stored('payroll', 'PlainText', (value) => ({ value, delivery: 'sealed', recipients })),
  };
}

function stored(
  serviceName: string,
  tokenType: string,
  bodyOf: (delivered: string) => object,
  delivered = `demo-${randomToken()}`,
): StoredCredential {
  const body = { tokenType, ...bodyOf(delivered) };
  return { serviceName, kind: tokenType, body, delivered, isRight: (given) => given === delivered };
}

/** It has expired, so that the webhook asks its provider before it delivers. */
function refreshed({ url, issued, refreshToken }: DemoOutside): DemoCredential {
  const body = {
    tokenType: 'JWT',
    accessToken: `demo-${randomToken()}`,
    refreshToken,
    expiryTime: new Date(Date.now() - 60_000).toISOString(),
    provider: { tokenUrl: `${url}/oauth/token`, clientId: 'demo' },
  };
  const isRight = (given: string): boolean => given === issued.oauthToken;
  return { serviceName: 'calendar', kind: 'JWT, expired', body, isRight };
}

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const PERIOD_MS = 30_000;

function oneTimeCode(): DemoCredential {
  const secret = Array.from(randomBytes(32), (byte) => BASE32[byte % BASE32.length]).join('');
  // It may have been made at the end of the period before.
  const isRight = (given: string): boolean =>
    [0, PERIOD_MS].some((agoMs) => given === codeAt(Date.now() - agoMs, base32Bytes(secret)));
  return { serviceName: 'second-factor', kind: 'TOTP', body: { tokenType: 'TOTP', secret }, isRight };
}

/** RFC 6238 and RFC 4226 section 5.3: SHA-1, six digits. */
function codeAt(timeMs: number, secret: Uint8Array): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(timeMs / PERIOD_MS)));
  const digest = createHmac('sha1', secret).update(counter).digest();
  const from = digest.readUInt8(digest.length - 1) & 0xf;
  return String((digest.readUInt32BE(from) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

function awsRole({ issued }: DemoOutside): DemoCredential {
  const minter = {
    type: 'aws-sts',
    accessKeyId: 'AKIADEMO',
    secretAccessKey: randomToken(),
    roleArn: 'arn:aws:iam::123456789012:role/demo',
  };
  return {
    serviceName: 'aws',
    kind: 'RawCredential, AWS STS',
    body: { tokenType: 'RawCredential', minter },
    isRight: (given) => (JSON.parse(given) as { AccessKeyId?: string }).AccessKeyId === issued.awsAccessKeyId,
  };
}

async function githubApp({ url, issued, trustApp }: DemoOutside): Promise<DemoCredential> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await trustApp(publicKey.export({ type: 'spki', format: 'pem' }).toString());
  const minter = {
    type: 'github-app',
    appId: '1',
    installationId: INSTALLATION,
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    apiUrl: `${url}/github`,
  };
  return {
    serviceName: 'repositories',
    kind: 'RawCredential, GitHub App',
    body: { tokenType: 'RawCredential', minter },
    isRight: (given) => given === issued.githubToken,
  };
}
