import type { AwsRequestProblem, HeaderPairs } from '@svault/shared';
import { type DecodedBody, decodeAwsChunked } from './aws-chunked.ts';

/** What a client's own signature is made of: the webhook signs anew, with its own clock. */
const OF_A_SIGNATURE: ReadonlySet<string> = new Set([
  'authorization',
  'date',
  'x-amz-content-sha256',
  'x-amz-date',
  'x-amz-region-set',
  'x-amz-s3session-token',
  'x-amz-security-token',
]);
/** The same in the query of a presigned URL, of the former version too; decoded, in lower case. */
const OF_A_PRESIGNED_URL: ReadonlySet<string> = new Set([
  'awsaccesskeyid',
  'x-amz-algorithm',
  'x-amz-content-sha256',
  'x-amz-credential',
  'x-amz-date',
  'x-amz-expires',
  'x-amz-region-set',
  'x-amz-security-token',
  'x-amz-signature',
  'x-amz-signedheaders',
]);
/** What describes the framing of a body that is sent without it. */
const OF_THE_FRAMING: ReadonlySet<string> = new Set([
  'content-encoding',
  'x-amz-decoded-content-length',
  'x-amz-trailer',
]);
const CHUNKED = 'aws-chunked';
/** `x-amz-content-sha256` of a body in the framing of {@link decodeAwsChunked}. */
const STREAMING =
  /^STREAMING-(?:UNSIGNED-PAYLOAD-TRAILER|AWS4-(?:HMAC-SHA256|ECDSA-P256-SHA256)-PAYLOAD(?:-TRAILER)?)$/;
const CHECKSUM = /^x-amz-checksum-/;

/** What of an agent's request is signed. */
export interface UnsignedRequest {
  readonly fields: HeaderPairs;
  readonly body: Uint8Array;
}

/** Thrown in this folder alone. */
export class NotSignable extends Error {
  override readonly name = 'NotSignable';
  readonly problem: AwsRequestProblem;

  constructor(problem: AwsRequestProblem) {
    super(problem);
    this.problem = problem;
  }
}

/**
 * A request without the signature that its client made with keys that count for nothing, and its body without the framing
 * whose parts are signed with them (PROTOCOL.md section 5.9).
 *
 * @param request.fields as received
 * @throws NotSignable
 */
export function unsignedRequest({ fields, body }: UnsignedRequest, target: string): UnsignedRequest {
  mustHaveOneReading(target);
  const named = fields.map(([name, value]) => [name.toLowerCase(), value] as const);
  const kept = named.filter(([name]) => !OF_A_SIGNATURE.has(name));
  const isStreaming = valuesOf(named, 'x-amz-content-sha256').some((hash) => hash.startsWith('STREAMING-'));
  const codings = listIn(named, 'content-encoding');
  if (!isStreaming) {
    if (codings.includes(CHUNKED)) throw new NotSignable('aws_chunked');
    return { fields: kept, body };
  }
  const decoded = decodedBody(named, body);
  const others = codings.filter((coding) => coding !== CHUNKED);
  return {
    fields: [
      ...kept.filter(([name]) => !OF_THE_FRAMING.has(name)),
      ...(others.length === 0 ? [] : [['content-encoding', others.join(', ')] as const]),
      ...decoded.trailers,
    ],
    body: decoded.body,
  };
}

/** A signature is made over names and values, which each reader of a query finds for itself. */
function mustHaveOneReading(target: string): void {
  const query = target.split('?').slice(1).join('?');
  if (query.includes('+')) throw new NotSignable('aws_query');
  for (const [name] of queryPairs(query))
    if (OF_A_PRESIGNED_URL.has(name.toLowerCase())) throw new NotSignable('aws_presigned');
}

/**
 * Names and values of a query, decoded.
 *
 * @throws NotSignable
 */
export function queryPairs(query: string): HeaderPairs {
  try {
    return query
      .split('&')
      .filter((pair) => pair !== '')
      .map((pair) => {
        const equals = pair.indexOf('=');
        const [name, value] = equals === -1 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)];
        return [decodeURIComponent(name), decodeURIComponent(value)];
      });
  } catch {
    throw new NotSignable('aws_query');
  }
}

/** @throws NotSignable where the body is not what its header says */
function decodedBody(fields: HeaderPairs, body: Uint8Array): DecodedBody {
  const [hash = '', ...otherHashes] = valuesOf(fields, 'x-amz-content-sha256');
  const [length = '', ...otherLengths] = valuesOf(fields, 'x-amz-decoded-content-length');
  const decoded = STREAMING.test(hash) ? decodeAwsChunked(body) : undefined;
  const isRepeated = otherHashes.length > 0 || otherLengths.length > 0;
  if (decoded === undefined || isRepeated || length !== String(decoded.body.byteLength))
    throw new NotSignable('aws_chunked');
  const announced = listIn(fields, 'x-amz-trailer').toSorted();
  const sent = decoded.trailers.map(([name]) => name).toSorted();
  const isAsAnnounced =
    new Set(sent).size === sent.length &&
    sent.join() === announced.join() &&
    sent.every((name) => CHECKSUM.test(name) && valuesOf(fields, name).length === 0);
  if (!isAsAnnounced) throw new NotSignable('aws_chunked');
  return decoded;
}

const valuesOf = (fields: HeaderPairs, name: string): readonly string[] =>
  fields.filter(([each]) => each === name).map(([, value]) => value);

/** Of a list in lower case (RFC 9110 section 5.6.1). */
const listIn = (fields: HeaderPairs, name: string): readonly string[] =>
  valuesOf(fields, name)
    .flatMap((value) => value.split(','))
    .map((member) => member.trim().toLowerCase())
    .filter((member) => member !== '');
