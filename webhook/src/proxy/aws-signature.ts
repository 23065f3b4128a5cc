import { Sha256 } from '@smithy/core/checksum';
import { HttpRequest } from '@smithy/protocol-http';
import { SignatureV4 } from '@smithy/signature-v4';
import { type AwsScope, sha256, toHex } from '@svault/shared';
import type { AwsKeys } from './aws-keys.ts';
import { queryPairs } from './aws-request.ts';

/** A request for AWS, complete except for its signature. */
export interface RequestToSign {
  readonly method: string;
  /** The upstream's URL, for the host. */
  readonly url: string;
  /** Path and query as in the request line. */
  readonly target: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

/** Services whose path is signed as sent; all others sign it encoded once more (AWS, "Create a signed request"). */
const PATH_SIGNED_AS_SENT: ReadonlySet<string> = new Set(['s3', 's3-object-lambda', 's3-outposts']);
const NO_BODY = new Uint8Array();

/**
 * Signs a request with AWS Signature Version 4 (PROTOCOL.md section 5.9).
 *
 * @param nowMs milliseconds since 1970
 * @returns the headers to send, without `host`
 */
export async function signForAws(
  { method, url, target, headers, body = NO_BODY }: RequestToSign,
  { keys, scope }: { readonly keys: AwsKeys; readonly scope: AwsScope },
  nowMs: number,
): Promise<Readonly<Record<string, string>>> {
  const { protocol, hostname, host } = new URL(url);
  const [path = '', ...query] = target.split('?');
  const signer = new SignatureV4({
    credentials: keys,
    ...scope,
    sha256: Sha256,
    uriEscapePath: !PATH_SIGNED_AS_SENT.has(scope.service),
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

/** The values of each name, in the order of the query. */
function queryBag(query: string): Record<string, string[]> {
  const byName = Map.groupBy(queryPairs(query), ([name]) => name);
  return Object.fromEntries([...byName].map(([name, pairs]) => [name, pairs.map(([, value]) => value)]));
}
