import type { HeaderPairs } from './signing/message.ts';

/** PROTOCOL.md section 5.6: what travels of an agent's request; nothing else does. */
const REQUEST_FIELDS: ReadonlySet<string> = new Set([
  'accept',
  'accept-language',
  'content-type',
  'user-agent',
  'mcp-protocol-version',
  'mcp-session-id',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'traceparent',
  'tracestate',
]);
const REQUEST_PREFIX = 'mcp-param-';

/** PROTOCOL.md section 5.8: what an agent's request to an HTTP API loses; every other field travels. */
const WITHHELD_REQUEST_FIELDS: ReadonlySet<string> = new Set([
  // Of one connection alone (RFC 9110 section 7.6.1), and fields that an HTTP client writes itself.
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'host',
  'content-length',
  'expect',
  'accept-encoding',
  // Authentication to the control plane, and what a browser says about it.
  'authorization',
  'x-mcp-key',
  'x-agent-key',
  'cookie',
  'cookie2',
  'origin',
  'referer',
  // Where the agent is.
  'forwarded',
  'x-real-ip',
  'via',
  // What the control plane adds.
  'content-digest',
  'signature',
  'signature-input',
]);
const WITHHELD_REQUEST_PREFIXES: readonly string[] = ['x-forwarded-', 'proxy-', 'sec-', 'sv-'];

/** PROTOCOL.md section 5.6: fields of an upstream's answer that the agent never gets. */
const WITHHELD_FIELDS: ReadonlySet<string> = new Set([
  // Of one connection alone (RFC 9110 section 7.6.1), and trailers.
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  // Authentication of and state for the caller, and instructions to browsers about the origin.
  'set-cookie',
  'set-cookie2',
  'www-authenticate',
  'proxy-authenticate',
  'clear-site-data',
  'strict-transport-security',
  'alt-svc',
  'refresh',
  'report-to',
  'nel',
  'service-worker-allowed',
  // Instructions to a reverse proxy: to send a local file, or to cache what must not be cached.
  'x-accel-charset',
  'x-accel-expires',
  'x-accel-limit-rate',
  'x-accel-redirect',
  'x-sendfile',
  'x-lighttpd-send-file',
  'x-reproxy-url',
  'surrogate-control',
]);
const WITHHELD_PREFIXES: readonly string[] = ['content-security-policy', 'access-control-', 'sv-'];
/** RFC 9213: `CDN-Cache-Control` and its like count before the `Cache-Control` of the service. */
const WITHHELD_SUFFIX = '-cache-control';

const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}$/;

/** A legal field value (PROTOCOL.md section 5.6): nothing outside ASCII, no control but tab. */
export const FIELD_VALUE = /^[\t\x20-\x7e]*$/;

/**
 * The fields of an agent's request that an upstream is sent (PROTOCOL.md section 5.6, headers that travel), in their
 * order, names in lower case. Fields that `Connection` names stay behind (RFC 9110 section 7.6.1).
 * @param pairs name and value, as received
 */
export function requestFieldsThatTravel(pairs: HeaderPairs): [name: string, value: string][] {
  return endToEnd(pairs, (name) => REQUEST_FIELDS.has(name) || name.startsWith(REQUEST_PREFIX));
}

/**
 * The fields of an agent's request that an HTTP API is sent (PROTOCOL.md section 5.8), in their order, names in lower
 * case. Fields that `Connection` names stay behind, as do those with an illegal name or value.
 * @param pairs name and value, as received
 */
export function httpRequestFieldsThatTravel(pairs: HeaderPairs): [name: string, value: string][] {
  return endToEnd(
    pairs,
    (name) =>
      !WITHHELD_REQUEST_FIELDS.has(name) &&
      !WITHHELD_REQUEST_PREFIXES.some((prefix) => name.startsWith(prefix)) &&
      isHeaderName(name),
  ).filter(([, value]) => isFieldValue(value));
}

/**
 * The fields of an upstream's answer that an agent is sent (PROTOCOL.md section 5.6, "Back travels everything except"),
 * in their order, names in lower case. Fields that `Connection` names stay behind.
 * @param pairs name and value, as received
 */
export function answerFieldsThatTravel(pairs: HeaderPairs): [name: string, value: string][] {
  return endToEnd(
    pairs,
    (name) =>
      !WITHHELD_FIELDS.has(name) &&
      !name.endsWith(WITHHELD_SUFFIX) &&
      !WITHHELD_PREFIXES.some((prefix) => name.startsWith(prefix)),
  );
}

/**
 * A caller's fields, with those of the templates in place of fields of the same name (PROTOCOL.md PRX-21). Names are the
 * same if {@link foldedName} is, since an upstream could read the caller's field instead.
 * @param fields of the caller, those that travel, names in lower case
 * @param injected values by names in any case
 */
export function withInjectedFields(
  fields: HeaderPairs,
  injected: HeaderPairs,
): [name: string, value: string][] {
  const replaced = new Set(injected.map(([name]) => foldedName(name)));
  const kept = fields.filter(([name]) => !replaced.has(foldedName(name)));
  return [...kept, ...injected].map(([name, value]) => [name.toLowerCase(), value]);
}

/**
 * A name as upstreams compare it: CGI and WSGI make one variable of names that differ in `_` and `-` alone (RFC 3875
 * section 4.1.18), some servers (lighttpd) of names that differ in any characters but letters and digits.
 */
export const foldedName = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '-');

/** Whether a text is a header name: an RFC 9110 token (of at most 128 characters). Names compare without case. */
export function isHeaderName(text: string): boolean {
  return HEADER_NAME.test(text);
}

/** Whether a text may be a field's value (PROTOCOL.md section 5.6): tab and printable ASCII, never a second field. */
export function isFieldValue(text: string): boolean {
  return FIELD_VALUE.test(text);
}

function endToEnd(pairs: HeaderPairs, travels: (name: string) => boolean): [name: string, value: string][] {
  const fields: [string, string][] = [];
  const options: string[] = [];
  for (const [received, value] of pairs) {
    const name = received.toLowerCase();
    if (name === 'connection') options.push(...value.split(',').map((option) => option.trim().toLowerCase()));
    else if (travels(name)) fields.push([name, value]);
  }
  const named = new Set(options);
  return named.size === 0 ? fields : fields.filter(([name]) => !named.has(name));
}

/**
 * The markers of a template's value (PROTOCOL.md sections 5.6 and 5.8): for the credential, in either spelling, and for
 * HTTP Basic with a user name, which has no colon (RFC 7617) and no brace.
 */
const MARKER = /\$\{TOKEN\}|\$<TOKEN>|\$\{BASIC:([!-9;-|~]{0,128})\}/g;

/** The number of markers in a template's value. */
export function markersIn(value: string): number {
  return value.match(MARKER)?.length ?? 0;
}

/** The names of the templates whose value has a marker. */
export const markedNames = (templates: Readonly<Record<string, string>>): string[] =>
  Object.entries(templates)
    .filter(([, value]) => markersIn(value) > 0)
    .map(([name]) => name);

/** Replaces each marker by the credential, in one pass: markers inside the credential stay. */
export function fillMarkers(value: string, token: string): string {
  // By a function, since `$&` in a replacement text would mean the marker itself. By no import: the console has this file.
  return value.replaceAll(MARKER, (_marker, user: string | undefined) =>
    user === undefined ? token : Buffer.from(`${user}:${token}`).toString('base64'),
  );
}
