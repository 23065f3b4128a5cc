import { createHash, createHmac } from 'node:crypto';
import { received } from './proxy-setup.ts';
import type { UpstreamCall } from './upstream.ts';

/** The signature of a call, and whether it is valid. */
export interface AwsSignature {
  /** What is wrong with it; undefined where it is valid. */
  readonly wrong: string | undefined;
  readonly accessKeyId: string;
  readonly region: string;
  readonly service: string;
  /** `YYYYMMDDTHHMMSSZ`, in UTC. */
  readonly date: string;
  /** Names in lower case. */
  readonly signedHeaders: readonly string[];
}

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 +Credential=([^/,]+)\/((\d{8})\/([^/,]+)\/([^/,]+)\/aws4_request), *SignedHeaders=([^,]+), *Signature=([0-9a-f]{64})$/;
/** Services whose path is signed as it is sent (AWS-16). */
const PATH_AS_SENT = ['s3', 's3-outposts', 's3-object-lambda'];

const sha256Hex = (data: Uint8Array | string): string => createHash('sha256').update(data).digest('hex');
const hmac = (key: Uint8Array | string, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest();

/** As AWS encodes: all but the unreserved characters of RFC 3986. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/**
 * Reads the signature of a call and compares it with one computed by AWS's "Create a signed request" (Signature Version 4).
 * @param placeUrl the place that was called
 */
export function readAwsSignature(
  call: UpstreamCall,
  placeUrl: string,
  secretAccessKey: string,
): AwsSignature {
  const [authorization = '', ...others] = received(call, 'authorization');
  const [, accessKeyId = '', scope = '', day = '', region = '', service = '', names = '', signature = ''] =
    AUTHORIZATION.exec(authorization) ?? [];
  const signedHeaders = names.split(';');
  const date = received(call, 'x-amz-date').join();
  const hash = received(call, 'x-amz-content-sha256').join();
  const { host, pathname } = new URL(placeUrl);
  const [path = '', query = ''] = splitOnce(pathname + call.rest, '?');
  const canonical = [
    ...[call.method, canonicalPath(path, service), canonicalQuery(query)],
    ...signedHeaders.map((name) => `${name}:${name === 'host' ? host : canonicalValue(call, name)}`),
    ...['', names, hash],
  ].join('\n');
  const text = ['AWS4-HMAC-SHA256', date, scope, sha256Hex(canonical)].join('\n');
  const key = scope.split('/').reduce<Buffer | string>(hmac, `AWS4${secretAccessKey}`);
  const unsigned = call.headers.find(
    ([name]) => (name === 'host' || name.startsWith('x-amz-')) && !signedHeaders.includes(name),
  );
  const isSorted = names === [...new Set(signedHeaders)].toSorted().join(';');
  const wrong = [
    [signature === '' || others.length > 0, 'is one authorization by AWS4-HMAC-SHA256'],
    [
      !/^\d{8}T\d{6}Z$/.test(date) || !date.startsWith(day),
      'has its time in x-amz-date and that day in its scope',
    ],
    [hash !== sha256Hex(call.body), 'has the hash of the body in x-amz-content-sha256'],
    [!isSorted || !signedHeaders.includes('host'), 'has its names sorted, host among them'],
    [unsigned !== undefined, `covers ${unsigned?.[0]}`],
    [hmac(key, text).toString('hex') !== signature, `is made of ${JSON.stringify(canonical)}`],
  ].find(([isWrong]) => isWrong)?.[1] as string | undefined;
  return { wrong, accessKeyId, region, service, date, signedHeaders };
}

const canonicalPath = (path: string, service: string): string =>
  PATH_AS_SENT.includes(service) ? path : path.split('/').map(encoded).join('/');

function canonicalQuery(query: string): string {
  const pairs = query.split('&').filter((pair) => pair !== '');
  return pairs
    .map((pair) => splitOnce(pair, '='))
    .map(([name = '', value = '']) => [name, value].map(decoded).map(encoded))
    .toSorted(([name = '', value = ''], [otherName = '', otherValue = '']) =>
      name === otherName ? byCode(value, otherValue) : byCode(name, otherName),
    )
    .map((pair) => pair.join('='))
    .join('&');
}

/** Leaves text that cannot be decoded, over which no webhook signs (AWS-10). */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const byCode = (one: string, other: string): number => (one < other ? -1 : Number(one > other));

const canonicalValue = (call: UpstreamCall, name: string): string =>
  received(call, name)
    .map((value) => value.trim().replaceAll(/ +/g, ' '))
    .join(',');

function splitOnce(text: string, separator: string): readonly string[] {
  const at = text.indexOf(separator);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
