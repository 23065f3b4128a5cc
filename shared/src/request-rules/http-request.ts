import { isFieldValue, isHeaderName } from '../proxy-headers.ts';
import type { HeaderPairs } from '../signing/message.ts';
import { AmbiguousRequest } from './ambiguity.ts';
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
  /** By names in lower case with dashes: CGI and WSGI make one variable of `_` and `-` (RFC 3875 section 4.1.18). */
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
  if (method === 'POST' && body.byteLength > 0) checkBodyForOverride(byName.get('content-type') ?? '', body);
  return { segments, fields: byName };
}

function readFields(pairs: HeaderPairs): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const [received, value] of pairs) {
    const name = received.toLowerCase().replaceAll('_', '-');
    if (!isHeaderName(received) || !isFieldValue(value)) throw new AmbiguousRequest('header');
    if (METHOD_OVERRIDES.has(name)) throw new AmbiguousRequest('method_override');
    if (PATH_OVERRIDES.has(name)) throw new AmbiguousRequest('path_override');
    if (fields.has(name) && SINGLE.has(name)) throw new AmbiguousRequest('header');
    fields.set(name, value);
  }
  if (fields.has('content-length') && fields.has('transfer-encoding')) throw new AmbiguousRequest('header');
  return fields;
}

function checkQuery(query: string): void {
  if (!QUERY.test(query)) throw new AmbiguousRequest('query');
  checkNames(query, 'query');
}

/** @param form as `application/x-www-form-urlencoded` */
function checkNames(form: string, ambiguity: 'query' | 'json'): void {
  for (const pair of form.split(/[&;]/)) {
    const [name = ''] = pair.split('=', 1);
    if (isMethodOverride(decodeName(name, ambiguity))) throw new AmbiguousRequest('method_override');
  }
}

function decodeName(name: string, ambiguity: 'query' | 'json'): string {
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
]);

/** PHP makes `_` of spaces, dots and brackets, drops leading spaces, and ends a name where its indexes or a NUL begin. */
function isMethodOverride(name: string): boolean {
  const folded = name.trimStart().split(/[[\0]/, 1)[0]?.replaceAll(/[ .-]/g, '_').toLowerCase() ?? '';
  return METHOD_PARAMETERS.has(folded) || METHOD_OVERRIDES.has(folded.replaceAll('_', '-'));
}

/** Frameworks take a POST for the method that a parameter of its body names. */
function checkBodyForOverride(contentType: string, body: Uint8Array): void {
  const type = contentType.toLowerCase();
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (type.includes('urlencoded')) checkNames(bytes.toString('latin1'), 'json');
  else if (type.includes('multipart')) {
    if (/name\s*=\s*"?[\s_.]*method/i.test(bytes.toString('latin1')))
      throw new AmbiguousRequest('method_override');
  } else if (type.includes('json') && mayNameMethod(bytes) && memberNames(bytes).some(isMethodOverride))
    throw new AmbiguousRequest('method_override');
}

/** Escapes hide a name from a search for it. */
const mayNameMethod = (bytes: Buffer): boolean =>
  bytes.includes('_method') ||
  bytes.includes('$method') ||
  bytes.includes('\\u00') ||
  bytes.includes('-Method');

function memberNames(bytes: Buffer): readonly string[] {
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return typeof value === 'object' && value !== null ? Object.keys(value) : [];
  } catch {
    throw new AmbiguousRequest('json');
  }
}
