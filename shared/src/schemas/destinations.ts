import * as z from 'zod';
import { isAllowedHost } from '../allowed-hosts.ts';
import { isObject } from '../json.ts';
import { FIELD_VALUE, isHeaderName } from '../proxy-headers.ts';

/** PROTOCOL.md section 5.6: a template may set none of these, nor any name with one of the prefixes. */
const FORBIDDEN_HEADERS: readonly string[] = [
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'upgrade',
  'expect',
  'via',
  'forwarded',
];
const FORBIDDEN_PREFIXES: readonly string[] = ['x-forwarded-', 'proxy-', 'sv-'];
const MAX_TEMPLATES = 20;
const MAX_TEMPLATE_BYTES = 4 * 1024;

const MAX_URL_CHARACTERS = 2048;
const OUTGOING_URL = /^https?:\/\/[^\s\\]+$/i;
/** An empty one too, which the URL parser drops. */
const USERINFO = /^[^/]*\/\/[^/?]*@/;

/** Whether a header decides where or how a message travels, so that no template may set it. */
export function isForbiddenTemplateHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return FORBIDDEN_HEADERS.includes(lower) || FORBIDDEN_PREFIXES.some((prefix) => lower.startsWith(prefix));
}

export const headerNameSchema = z.string().refine(isHeaderName, 'not a header name');
export const allowedHostsSchema = z
  .array(
    z
      .string()
      .refine(
        isAllowedHost,
        'must be host, host:port or * (each means https), http://host or http://host:port (plain http)',
      ),
  )
  .max(100);
export const allowedHeadersSchema = z.array(headerNameSchema).max(MAX_TEMPLATES);

/** PROTOCOL.md section 5.6: the headers that a proxy adds; the credential replaces `${TOKEN}` in a value. */
export const headerTemplatesSchema = z
  .record(
    z
      .string()
      .refine(isHeaderName, 'not a header name')
      .refine((name) => !isForbiddenTemplateHeader(name), 'a template may not set this header'),
    z.string().max(MAX_TEMPLATE_BYTES).regex(FIELD_VALUE, 'not a header value'),
  )
  .refine((templates) => Object.keys(templates).length <= MAX_TEMPLATES, `at most ${MAX_TEMPLATES} templates`)
  .refine(hasDistinctNames, 'header names compare without case, each may stand once');

/** RFC 3986 section 2.3: written the same in every query. */
const QUERY_NAME = /^[A-Za-z0-9\-._~]{1,128}$/;
/** PROTOCOL.md section 5.8. */
const MAX_QUERY_TEMPLATES = 5;
const MAX_QUERY_TEMPLATE_CHARACTERS = 512;

const queryNameSchema = z
  .string()
  .regex(QUERY_NAME, 'not 1 to 128 of A-Z a-z 0-9 - . _ ~, as the name of a query parameter must be');
export const allowedQuerySchema = z.array(queryNameSchema).min(1).max(MAX_QUERY_TEMPLATES);

/** PROTOCOL.md section 5.8: the parameters that a proxy adds to a query; the credential replaces the markers. */
export const queryTemplatesSchema = z
  .record(
    queryNameSchema,
    z.string().max(MAX_QUERY_TEMPLATE_CHARACTERS).regex(FIELD_VALUE, 'not printable ASCII'),
  )
  .refine((templates) => {
    const count = Object.keys(templates).length;
    return count >= 1 && count <= MAX_QUERY_TEMPLATES;
  }, `1 to ${MAX_QUERY_TEMPLATES} templates`);

/** Whether {@link queryTemplatesSchema} takes a value, at a fraction of its cost. */
export function areQueryTemplates(value: unknown): value is Readonly<Record<string, string>> {
  if (!isObject(value)) return false;
  const templates = Object.entries(value);
  return (
    templates.length >= 1 &&
    templates.length <= MAX_QUERY_TEMPLATES &&
    templates.every(
      ([name, template]) =>
        QUERY_NAME.test(name) &&
        typeof template === 'string' &&
        template.length <= MAX_QUERY_TEMPLATE_CHARACTERS &&
        FIELD_VALUE.test(template),
    )
  );
}

/** Whether {@link headerTemplatesSchema} takes a value, at a fraction of its cost: asked at each proxied call. */
export function areHeaderTemplates(value: unknown): value is Readonly<Record<string, string>> {
  if (!isObject(value)) return false;
  const templates = Object.entries(value);
  return templates.length <= MAX_TEMPLATES && templates.every(isTemplate) && hasDistinctNames(value);
}

const isTemplate = ([name, value]: readonly [string, unknown]): boolean =>
  isHeaderName(name) &&
  !isForbiddenTemplateHeader(name) &&
  typeof value === 'string' &&
  value.length <= MAX_TEMPLATE_BYTES &&
  FIELD_VALUE.test(value);

/** An absolute http(s) address without userinfo and fragment; whether it may be called is the egress's affair. */
export const outgoingUrlSchema = z
  .string()
  .max(MAX_URL_CHARACTERS)
  .refine((text) => parseOutgoingUrl(text) !== undefined, 'not an http(s) URL without userinfo and fragment');

/** @returns undefined for what {@link outgoingUrlSchema} does not take */
export function parseOutgoingUrl(text: string): URL | undefined {
  if (text.length > MAX_URL_CHARACTERS || text.includes('#') || !OUTGOING_URL.test(text)) return undefined;
  if (USERINFO.test(text) || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  return url.username === '' && url.password === '' ? url : undefined;
}

function hasDistinctNames(templates: Readonly<Record<string, unknown>>): boolean {
  const names = Object.keys(templates);
  return new Set(names.map((name) => name.toLowerCase())).size === names.length;
}
