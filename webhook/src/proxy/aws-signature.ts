import { Sha256 } from '@smithy/core/checksum';
import { HttpRequest } from '@smithy/protocol-http';
import { SignatureV4 } from '@smithy/signature-v4';
import { type AwsScope, sha256, toHex } from '@svault/shared';
import type { AwsKeys } from './aws-keys.ts';
import { queryPairs } from './aws-request.ts';

/** A request for AWS, as it is sent but for the signature. */
export interface RequestToSign {
  readonly method: string;
  /** The upstream's, for the host. */
  readonly url: string;
  /** From `/` on, as it is written in the request line. */
  readonly target: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

/** Their path is signed as it is written, that of all others encoded once more (AWS, "Create a signed request"). */
const PATH_AS_WRITTEN: ReadonlySet<string> = new Set(['s3', 's3-object-lambda', 's3-outposts']);
const NOTHING = new Uint8Array();

/**
 * The header of a request with AWS Signature Version 4 (PROTOCOL.md section 5.9).
 *
 * @param nowMs milliseconds since 1970
 */
export async function signForAws(
  { method, url, target, headers, body = NOTHING }: RequestToSign,
  { keys, scope }: { readonly keys: AwsKeys; readonly scope: AwsScope },
  nowMs: number,
): Promise<Readonly<Record<string, string>>> {
  const { protocol, hostname, host } = new URL(url);
  const [path = '', ...query] = target.split('?');
  const signer = new SignatureV4({
    credentials: keys,
    ...scope,
    sha256: Sha256,
    uriEscapePath: !PATH_AS_WRITTEN.has(scope.service),
  });
  const request = new HttpRequest({
    method,
    protocol,
    hostname,
    path,
    query: queryBag(query.join('?')),
    headers: { ...headers, host, 'x-amz-content-sha256': toHex(sha256(body)) },
  });
  const signed = await signer.sign(request, { signingDate: new Date(nowMs) });
  const { host: _host, ...sent } = signed.headers;
  return sent;
}

/** Repeated names become lists. */
function queryBag(query: string): Record<string, string[]> {
  const byName = Map.groupBy(queryPairs(query), ([name]) => name);
  return Object.fromEntries([...byName].map(([name, pairs]) => [name, pairs.map(([, value]) => value)]));
}
