import type { AwsRequestProblem, HeaderPairs } from '@svault/shared';
import { type DecodedBody, decodeAwsChunked } from './aws-chunked.ts';

/** Headers of the client's own signature, which the webhook replaces with one that it makes by its own clock. */
const SIGNATURE_HEADERS: ReadonlySet<string> = new Set([
  'authorization',
  'date',
  'x-amz-content-sha256',
  'x-amz-date',
  'x-amz-region-set',
  'x-amz-s3session-token',
  'x-amz-security-token',
]);
/** Query parameters of presigned URLs, of Signature Version 2 too; decoded, in lower case. */
const PRESIGNED_PARAMETERS: ReadonlySet<string> = new Set([
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
/** Headers that describe `aws-chunked`, which the body is decoded from before it is sent. */
const CHUNKED_HEADERS: ReadonlySet<string> = new Set([
  'content-encoding',
  'x-amz-decoded-content-length',
  'x-amz-trailer',
]);
const CHUNKED = 'aws-chunked';
/** The `x-amz-content-sha256` of a body that {@link decodeAwsChunked} decodes. */
const STREAMING =
  /^STREAMING-(?:UNSIGNED-PAYLOAD-TRAILER|AWS4-(?:HMAC-SHA256|ECDSA-P256-SHA256)-PAYLOAD(?:-TRAILER)?)$/;
const CHECKSUM = /^x-amz-checksum-/;

/** The parts of an agent's request that are signed besides its method and target. */
export interface UnsignedRequest {
  readonly fields: HeaderPairs;
  readonly body: Uint8Array;
}

/** Thrown within this folder only. */
export class NotSignable extends Error {
  override readonly name = 'NotSignable';
  readonly problem: AwsRequestProblem;

  constructor(problem: AwsRequestProblem) {
    super(problem);
    this.problem = problem;
  }
}

/**
 * Removes the signature that the client made with dummy keys from a request, and decodes a body in `aws-chunked`, whose
 * chunks may be signed with them (PROTOCOL.md section 5.9).
 *
 * @param request.fields as received
 * @throws NotSignable
 */
export function unsignedRequest({ fields, body }: UnsignedRequest, target: string): UnsignedRequest {
  mustHaveSignableQuery(target);
  const named = fields.map(([name, value]) => [name.toLowerCase(), value] as const);
  const kept = named.filter(([name]) => !SIGNATURE_HEADERS.has(name));
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
      ...kept.filter(([name]) => !CHUNKED_HEADERS.has(name)),
      ...(others.length === 0 ? [] : [['content-encoding', others.join(', ')] as const]),
      ...decoded.trailers,
    ],
    body: decoded.body,
  };
}

/**
 * A signature covers decoded names and values, so a query that parsers decode differently is rejected.
 *
 * @throws NotSignable
 */
function mustHaveSignableQuery(target: string): void {
  const query = target.split('?').slice(1).join('?');
  if (query.includes('+')) throw new NotSignable('aws_query');
  for (const [name] of queryPairs(query))
    if (PRESIGNED_PARAMETERS.has(name.toLowerCase())) throw new NotSignable('aws_presigned');
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

/** @throws NotSignable if the body does not match its headers */
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

/** The members of a list-based field (RFC 9110 section 5.6.1), in lower case. */
const listIn = (fields: HeaderPairs, name: string): readonly string[] =>
  valuesOf(fields, name)
    .flatMap((value) => value.split(','))
    .map((member) => member.trim().toLowerCase())
    .filter((member) => member !== '');
