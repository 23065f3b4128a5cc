import { type HeaderPairs, isFieldValue } from '@svault/shared';

/** A body without the framing of `aws-chunked` (AWS, "Signature calculations: chunked upload"). */
export interface DecodedBody {
  readonly body: Uint8Array;
  /** Behind the last chunk; names in lower case. */
  readonly trailers: HeaderPairs;
}

const CR = 0x0d;
const LF = 0x0a;
/** Enough for a size and a chunk's signature. */
const MAX_LINE_BYTES = 1024;
/** SDKs write pieces of 8 KiB and more. */
const MAX_CHUNKS = 16 * 1024;
/** A signature of each chunk is made with a key that counts for nothing here. */
const CHUNK_HEAD = /^([0-9a-f]{1,8})(?:;chunk-signature=[0-9a-f]{1,256})?$/i;
/** Some SDKs write a line feed before the end of the line. */
const TRAILER = /^([a-z0-9-]{1,128}):([^\n]*)\n?$/i;
/** Made with the same key. */
const TRAILER_SIGNATURE = 'x-amz-trailer-signature';

/** @returns undefined for what is not framed so, to its last byte */
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

/** @returns undefined without its end */
function lineAt(bytes: Uint8Array, at: number): string | undefined {
  const piece = Buffer.from(bytes.buffer, bytes.byteOffset + at, Math.min(MAX_LINE_BYTES, bytes.length - at));
  const end = piece.indexOf('\r\n');
  return end === -1 ? undefined : piece.toString('latin1', 0, end);
}

/** With or without the empty line behind them. */
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
