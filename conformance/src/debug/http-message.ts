import { verifyContentDigest, type HeaderPairs } from '@svault/shared';

/** A request as a file holds it. */
export interface HttpMessage {
  readonly method: string;
  /** As in the request line, with the query if any. */
  readonly target: string;
  readonly headers: HeaderPairs;
  readonly body: Uint8Array;
}

/** A file holds no request that can be read. */
export class MessageRefused extends Error {
  override readonly name = 'MessageRefused';
}

const REQUEST_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+) (\S+)(?: HTTP\/\d(?:\.\d)?)?$/;
const HEADER_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*(.*?)[ \t]*$/;

/**
 * Reads a request line, headers, an empty line and a body; lines end with LF or CRLF. A line end at the very end is the
 * editor's and not the body's, unless `Content-Length` or `Content-Digest` counts it.
 * @throws MessageRefused that names the line
 */
export function parseHttpMessage(text: string): HttpMessage {
  const blank = /\r?\n\r?\n/.exec(text);
  const head = (blank === null ? text : text.slice(0, blank.index)).replace(/\r?\n$/, '');
  const [first = '', ...lines] = head.split(/\r?\n/);
  const [, method, target] = REQUEST_LINE.exec(first) ?? [];
  if (method === undefined || target === undefined)
    throw new MessageRefused('line 1 is no request line, such as: POST /v1/storage HTTP/1.1');
  const headers = lines.map((line, index) => {
    const [, name, value] = HEADER_LINE.exec(line) ?? [];
    if (name === undefined || value === undefined)
      throw new MessageRefused(`line ${index + 2} is no header, such as: Content-Type: application/json`);
    return [name, value] as const;
  });
  const rest = blank === null ? '' : text.slice(blank.index + blank[0].length);
  return { method, target, headers, body: bodyOf(rest, headers) };
}

function bodyOf(rest: string, headers: HeaderPairs): Uint8Array {
  const whole = Buffer.from(rest, 'utf8');
  const trimmed = Buffer.from(rest.replace(/\r?\n$/, ''), 'utf8');
  const valueOf = (name: string): string | undefined =>
    headers.find(([each]) => each.toLowerCase() === name)?.[1];
  if (valueOf('content-length') === String(whole.byteLength)) return whole;
  const digest = valueOf('content-digest');
  return digest !== undefined && isDigestOf(digest, whole) ? whole : trimmed;
}

function isDigestOf(digest: string, body: Uint8Array): boolean {
  try {
    verifyContentDigest(digest, body);
    return true;
  } catch {
    return false;
  }
}
