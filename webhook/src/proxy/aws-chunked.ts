import { type HeaderPairs, isFieldValue } from '@svault/shared';

/** A body decoded from `aws-chunked` (AWS, "Signature calculations: chunked upload"). */
export interface DecodedBody {
  readonly body: Uint8Array;
  /** Names in lower case. */
  readonly trailers: HeaderPairs;
}

const CR = 0x0d;
const LF = 0x0a;
/** Enough for a chunk's size and signature. */
const MAX_LINE_BYTES = 1024;
/** SDKs write chunks of 8 KiB or more. */
const MAX_CHUNKS = 16 * 1024;
/** The chunk's signature is ignored: the client made it with dummy keys. */
const CHUNK_HEAD = /^([0-9a-f]{1,8})(?:;chunk-signature=[0-9a-f]{1,256})?$/i;
/** Some SDKs write a line feed before the end of the line. */
const TRAILER = /^([a-z0-9-]{1,128}):([^\n]*)\n?$/i;
/** Ignored for the same reason. */
const TRAILER_SIGNATURE = 'x-amz-trailer-signature';

/** @returns undefined unless the whole body, to its last byte, is well-formed `aws-chunked` */
export function decodeAwsChunked(framed: Uint8Array): DecodedBody | undefined {
  const chunks: Uint8Array[] = [];
  for (let at = 0; ;) {
    const line = lineAt(framed, at);
    const size = Number.parseInt(CHUNK_HEAD.exec(line ?? '')?.[1] ?? '', 16);
    if (line === undefined || Number.isNaN(size)) return undefined;
    at += line.length + 2;
    if (size === 0) {
      const trailers = trailersIn(framed.subarray(at));
      return trailers && { body: Buffer.concat(chunks), trailers };
    }
    const end = at + size;
    if (chunks.length === MAX_CHUNKS || framed[end] !== CR || framed[end + 1] !== LF) return undefined;
    chunks.push(framed.subarray(at, end));
    at = end + 2;
  }
}

/** @returns the line without its CRLF; undefined if there is none within the limit */
function lineAt(bytes: Uint8Array, at: number): string | undefined {
  const piece = Buffer.from(bytes.buffer, bytes.byteOffset + at, Math.min(MAX_LINE_BYTES, bytes.length - at));
  const end = piece.indexOf('\r\n');
  return end === -1 ? undefined : piece.toString('latin1', 0, end);
}

/** With or without a final empty line. */
function trailersIn(rest: Uint8Array): HeaderPairs | undefined {
  if (rest.byteLength > MAX_LINE_BYTES) return undefined;
  const lines = Buffer.from(rest).toString('latin1').split('\r\n');
  if (lines.pop() !== '') return undefined;
  if (lines.at(-1) === '') lines.pop();
  const trailers: [string, string][] = [];
  for (const line of lines) {
    const [, name = '', value = ''] = TRAILER.exec(line) ?? [];
    if (name === '' || !isFieldValue(value)) return undefined;
    if (name.toLowerCase() !== TRAILER_SIGNATURE) trailers.push([name.toLowerCase(), value.trim()]);
  }
  return trailers;
}
