import { createHash, createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8}\/([a-z0-9-]+)\/([a-z0-9-]+)\/aws4_request), SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/;

const sha256 = (data: Uint8Array | string): string => createHash('sha256').update(data).digest('hex');
const hmac = (key: Uint8Array | string, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest();

/** RFC 3986's unreserved characters stay. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** What the signature of a request says, and whether it equals the one computed as AWS documents it ("Create a signed request"). */
export interface VerifiedSignature {
  readonly holds: boolean;
  readonly accessKeyId: string;
  readonly region: string;
  readonly service: string;
  readonly date: string;
  readonly signedHeaders: readonly string[];
}

interface SignedRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Uint8Array;
}

/** Uses none of AWS's libraries. The body must be the one whose hash is signed. */
export function verifySignature(request: SignedRequest, secretAccessKey: string): VerifiedSignature {
  const { method, url, headers, body } = request;
  const [, accessKeyId = '', scope = '', region = '', service = '', names = '', signature = ''] =
    AUTHORIZATION.exec(headers['authorization'] ?? '') ?? [];
  const signedHeaders = names.split(';');
  const date = String(headers['x-amz-date']);
  const [path = '', query = ''] = url.split('?');
  const canonicalPath = service === 's3' ? path : path.split('/').map(encoded).join('/');
  const canonicalQuery = query
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const [name = '', ...value] = pair.split('=');
      return `${encoded(decodeURIComponent(name))}=${encoded(decodeURIComponent(value.join('=')))}`;
    })
    .toSorted()
    .join('&');
  const canonicalHeaders = signedHeaders.map(
    (name) => `${name}:${String(headers[name]).trim().replaceAll(/ +/g, ' ')}\n`,
  );
  // Only S3 requires the field.
  const hash = String(headers['x-amz-content-sha256'] ?? (service === 's3' ? undefined : sha256(body)));
  const canonical = [method, canonicalPath, canonicalQuery, canonicalHeaders.join(''), names, hash].join(
    '\n',
  );
  const toSign = ['AWS4-HMAC-SHA256', date, scope, sha256(canonical)].join('\n');
  const key = scope.split('/').reduce<Buffer | string>(hmac, `AWS4${secretAccessKey}`);
  const holds = hash === sha256(body) && hmac(key, toSign).toString('hex') === signature;
  return { holds, accessKeyId, region, service, date, signedHeaders };
}
