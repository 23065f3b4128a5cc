import { Sha256 } from '@aws-crypto/sha256-js';
import { HttpRequest } from '@smithy/protocol-http';
import { SignatureV4 } from '@smithy/signature-v4';
import { type ProviderAnswer, type Provider, startProvider } from './fake-provider.ts';

export const ACCESS_KEY = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
};

/** An STS that takes nothing unless its SigV4 signature holds, computed anew with AWS's own library. */
export interface FakeSts extends Provider {
  /** Parameters of the calls that were answered, in order. */
  readonly calls: Record<string, string>[];
  /** How it answers what was signed well; by default with credentials for an hour. */
  answer: (call: Record<string, string>) => ProviderAnswer | Promise<ProviderAnswer>;
  /** Of what was handed out last. */
  readonly issued: {
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    readonly sessionToken: string;
  };
}

/** @param options.now for the expiry of what it hands out */
export async function startFakeSts(options: {
  readonly now: () => number;
  readonly region?: string;
  readonly lifeSeconds?: number;
}): Promise<FakeSts> {
  const { now, region = 'us-east-1', lifeSeconds = 3600 } = options;
  const calls: Record<string, string>[] = [];
  let count = 0;
  const issued = () => ({
    accessKeyId: `ASIA${count}`,
    secretAccessKey: `minted+secret/access-key-${count}`,
    sessionToken: `minted-session-token-${count}==`,
  });
  const sts = {
    calls,
    get issued() {
      return issued();
    },
    answer: (call: Record<string, string>): ProviderAnswer | Promise<ProviderAnswer> => {
      count++;
      const { accessKeyId, secretAccessKey, sessionToken } = issued();
      const expiration = new Date(now() + lifeSeconds * 1000).toISOString();
      return {
        body: `<${call['Action']}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><${call['Action']}Result>
<Credentials><AccessKeyId>${accessKeyId}</AccessKeyId><SecretAccessKey>${secretAccessKey}</SecretAccessKey>
<SessionToken>${sessionToken}</SessionToken><Expiration>${expiration}</Expiration></Credentials>
</${call['Action']}Result></${call['Action']}Response>`,
        headers: { 'content-type': 'text/xml' },
      };
    },
  };
  const provider = await startProvider(async (request) => {
    if (!(await signatureHolds(request, region))) return stsError(403, 'SignatureDoesNotMatch', 'no');
    const call = Object.fromEntries(new URLSearchParams(request.body));
    calls.push(call);
    return sts.answer(call);
  });
  return Object.defineProperties(sts, Object.getOwnPropertyDescriptors(provider)) as typeof sts & Provider;
}

export function stsError(status: number, code: string, message: string): ProviderAnswer {
  return {
    status,
    headers: { 'content-type': 'text/xml' },
    body: `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error><RequestId>r</RequestId></ErrorResponse>`,
  };
}

const SIGNED =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([a-z0-9-]+)\/sts\/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/;

async function signatureHolds(
  request: { method: string; url: string; headers: Record<string, string>; body: string },
  region: string,
): Promise<boolean> {
  const [, accessKeyId, , signedRegion, names = ''] =
    SIGNED.exec(request.headers['authorization'] ?? '') ?? [];
  const date = request.headers['x-amz-date'] ?? '';
  if (accessKeyId !== ACCESS_KEY.accessKeyId || signedRegion !== region) return false;
  if (!names.split(';').includes('host') || !names.split(';').includes('x-amz-date')) return false;
  const url = new URL(request.url, `http://${request.headers['host']}`);
  const signable = new HttpRequest({
    method: request.method,
    protocol: url.protocol,
    hostname: url.hostname,
    port: Number(url.port),
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    headers: Object.fromEntries(names.split(';').map((name) => [name, request.headers[name] ?? ''])),
    body: request.body,
  });
  const signer = new SignatureV4({ credentials: ACCESS_KEY, region, service: 'sts', sha256: Sha256 });
  const again = await signer.sign(signable, {
    signingDate: new Date(date.replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5')),
    signableHeaders: new Set(names.split(';')),
  });
  return again.headers['authorization'] === request.headers['authorization'];
}
