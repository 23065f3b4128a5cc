import { foldedName, isFieldValue, isHeaderName } from '../proxy-headers.ts';
import type { HeaderPairs } from '../signing/message.ts';
import { AmbiguousRequest } from './request-denial.ts';
import { readPath } from './request-path.ts';

/** A request as it would reach the upstream. */
export interface HttpRequest {
  readonly origin: Pick<URL, 'protocol' | 'hostname' | 'port'>;
  readonly method: string;
  /** Path and query, as in the request line (RFC 9112 section 3.2.1). */
  readonly target: string;
  readonly fields: HeaderPairs;
  /** All of it; empty if there is none. */
  readonly body: Uint8Array;
}

const METHOD = /^[A-Z]{1,20}$/;
const NEVER_PROXIED: ReadonlySet<string> = new Set(['CONNECT', 'TRACE']);
/** Visible characters without `#`, `\` and quotes. */
const QUERY = /^[!$-[\]-~]*$/;

/** Names in lower case with dashes. */
const METHOD_OVERRIDES: ReadonlySet<string> = new Set([
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'x-original-method',
  'x-forwarded-method',
]);
const PATH_OVERRIDES: ReadonlySet<string> = new Set([
  'x-original-url',
  'x-original-uri',
  'x-original-path',
  'x-rewrite-url',
  'x-forwarded-uri',
  'x-forwarded-url',
  'x-forwarded-path',
  'x-forwarded-prefix',
  'x-script-name',
  'script-name',
  'path-info',
  // A second resource, which no rule is compared with: the source or destination of a copy (RFC 4918 section 10.3).
  'destination',
  'x-amz-copy-source',
  'x-amz-rename-source',
  'x-copy-from',
  'x-goog-copy-source',
  'x-ms-copy-source',
  'x-ms-rename-source',
]);
const SINGLE: ReadonlySet<string> = new Set([
  'host',
  'content-type',
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'mcp-method',
  'mcp-name',
]);

/** What the rules look at. */
export interface ReadRequest {
  readonly segments: readonly string[];
  /** By folded names. */
  readonly fields: ReadonlyMap<string, string>;
}

/** Reads method, target and fields. @throws AmbiguousRequest where another program could read them differently */
export function readRequest({ method, target, fields, body }: HttpRequest): ReadRequest {
  if (!METHOD.test(method) || NEVER_PROXIED.has(method)) throw new AmbiguousRequest('method');
  if (!target.startsWith('/')) throw new AmbiguousRequest('absolute_target');
  if (target.includes('#')) throw new AmbiguousRequest('fragment');
  const question = target.indexOf('?');
  const segments = readPath(question === -1 ? target : target.slice(0, question));
  if (question !== -1) checkQuery(target.slice(question + 1));
  const byName = readFields(fields);
  checkLength(byName, body);
  if (method === 'POST' && body.byteLength > 0) checkBodyForOverride(byName, body);
  return { segments, fields: byName };
}

function readFields(pairs: HeaderPairs): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const [received, value] of pairs) {
    const name = foldedName(received);
    if (!isHeaderName(received) || !isFieldValue(value)) throw new AmbiguousRequest('header_form');
    if (METHOD_OVERRIDES.has(name)) throw new AmbiguousRequest('method_override');
    if (PATH_OVERRIDES.has(name)) throw new AmbiguousRequest('path_override');
    if (fields.has(name) && SINGLE.has(name)) throw new AmbiguousRequest('header_form');
    fields.set(name, value);
  }
  return fields;
}

/** RFC 9112 section 6.3: where these contradict each other, what one program takes for the end another one does not. */
function checkLength(fields: ReadonlyMap<string, string>, body: Uint8Array): void {
  const [length, coding] = [fields.get('content-length'), fields.get('transfer-encoding')];
  const isPlain =
    coding === undefined
      ? length === undefined || length === String(body.byteLength)
      : length === undefined && coding === 'chunked';
  if (!isPlain) throw new AmbiguousRequest('header_form');
}

function checkQuery(query: string): void {
  if (!QUERY.test(query)) throw new AmbiguousRequest('query');
  checkNames(query, 'query');
}

/** @param form as `application/x-www-form-urlencoded` */
function checkNames(form: string, ambiguity: 'query' | 'form'): void {
  for (const pair of form.split(/[&;]/)) {
    const [name = ''] = pair.split('=', 1);
    if (isMethodOverride(decodeName(name, ambiguity))) throw new AmbiguousRequest('method_override');
  }
}

function decodeName(name: string, ambiguity: 'query' | 'form'): string {
  try {
    return decodeURIComponent(name.replaceAll('+', ' '));
  } catch {
    throw new AmbiguousRequest(ambiguity);
  }
}

const METHOD_PARAMETERS: ReadonlySet<string> = new Set([
  '_method',
  '_http_method',
  '_method_override',
  '$method',
  // Of Google's APIs (`goog.net.rpc.HttpCors`); the latter holds headers.
  '$httpmethod',
  '$httpheaders',
]);

/** PHP makes `_` of spaces, dots and brackets, drops leading spaces, and ends a name where its indexes or a NUL begin. */
function isMethodOverride(name: string): boolean {
  const folded = name.trimStart().split(/[[\0]/, 1)[0]?.replaceAll(/[ .-]/g, '_').toLowerCase() ?? '';
  return METHOD_PARAMETERS.has(folded) || METHOD_OVERRIDES.has(foldedName(folded));
}

/** In these an ASCII name is the bytes that it is in UTF-8, the default of forms and JSON. */
const ASCII_CHARSET = /^(?:utf-?8|us-ascii|iso-8859-1)$/;
/** One without a value ends at the next, so that matching takes linear time. */
const CHARSET_PARAMETERS = /charset(?:(?!charset)[^=])*=\s*["']?([^\s"';,]*)/g;

/**
 * Frameworks take a POST for the method that a parameter of its body names. A `Content-Type` may have the word for one
 * format in a parameter and mean another, and Rack takes a body without any for a form.
 */
function checkBodyForOverride(fields: ReadonlyMap<string, string>, body: Uint8Array): void {
  const type = (fields.get('content-type') ?? '').toLowerCase();
  const isForm = type === '' || type.includes('urlencoded');
  const isMultipart = type.includes('multipart');
  const isJson = /(?<!nd)json/.test(type);
  if (!isForm && !isMultipart && !isJson) return;
  for (const [, charset = ''] of type.matchAll(CHARSET_PARAMETERS))
    if (!ASCII_CHARSET.test(charset)) throw new AmbiguousRequest('content_type');
  if ((fields.get('content-encoding') ?? 'identity') !== 'identity')
    throw new AmbiguousRequest('content_encoding');
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const text = bytes.toString('latin1');
  if (isForm) checkNames(text, 'form');
  if (isMultipart) checkParts(text);
  if (isJson && MAY_NAME_METHOD.test(text) && memberNames(bytes).some(isMethodOverride))
    throw new AmbiguousRequest('method_override');
}

/** With the folded line behind it (RFC 5322 section 2.2.3), of which no two programs make the same. */
const DISPOSITION = /content-disposition([^\n]*)(\n[ \t])?/gi;
/** RFC 7578 section 4.2, without escapes and extended names, which some programs decode. */
const PLAIN_PART =
  /^:[ \t]*form-data;[ \t]*name="([^"\\%?\r]*)"(?:;[ \t]*filename="[^"\r]*")?(?:;[ \t]*filename\*=[\w!#$&+\-^`{}|~'%.]+)?[ \t]*\r?$/i;

function checkParts(text: string): void {
  for (const [, parameters = '', fold] of text.matchAll(DISPOSITION)) {
    if (fold === undefined && !/(?<!file)name/i.test(parameters)) continue;
    const name = PLAIN_PART.exec(parameters)?.[1];
    if (fold !== undefined || name === undefined) throw new AmbiguousRequest('form');
    if (isMethodOverride(name)) throw new AmbiguousRequest('method_override');
  }
}

/** Escapes hide a name from a search for it. */
const MAY_NAME_METHOD = /[_$-](?:http)?method|\$httpheaders|\\u00[2-7]/i;

function memberNames(bytes: Buffer): readonly string[] {
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return typeof value === 'object' && value !== null ? Object.keys(value) : [];
  } catch {
    throw new AmbiguousRequest('json');
  }
}
