import { createHmac } from 'node:crypto';
import { authorityOf, contentDigest, randomToken, signedPath, toBase64, utf8 } from '@svault/shared';
import type { HeaderPairs, HmacKey } from '@svault/shared';
import type { Target } from '../target.ts';

/** A request to be signed as the service signs it. */
export interface Unsigned {
  readonly method: string;
  /** From `/v1`, with the query if any. */
  readonly path: string;
  /** Fields beside those that the signature brings along; `sv-ticket` is covered, others where `components` say so. */
  readonly headers?: HeaderPairs;
  readonly body: Uint8Array;
}

/** A signed request's headers, and the bytes that its MAC was made over. */
export interface Signed {
  readonly headers: HeaderPairs;
  readonly base: string;
}

/**
 * A component by its name; or as it stands in `Signature-Input`, quotes and parameters included, with the value that
 * its line has in the base.
 */
export type Component = string | { readonly written: string; readonly value: string };

/** Where a signature departs from the profile of protocol section 3. Everything left out is as it should be. */
export interface SignatureDeviation {
  readonly key?: HmacKey;
  /** Seconds since 1970. */
  readonly created?: number;
  readonly expires?: number;
  readonly nonce?: string;
  readonly alg?: string;
  readonly tag?: string;
  readonly label?: string;
  /** Lines of the base that say something else than what is sent. */
  readonly authority?: string;
  readonly path?: string;
  readonly query?: string;
  readonly components?: readonly Component[];
  /** Fields that are covered in addition to those that every signature covers. */
  readonly covers?: readonly string[];
  /** Rewrites `;created=…;tag="…"`; the MAC covers what comes out. */
  readonly parameters?: (right: string) => string;
  /** Rewrites what the MAC is made over, and only that. */
  readonly base?: (right: string) => string;
  readonly contentType?: string;
  readonly contentDigest?: string;
  /** Fields of the content that are neither sent nor covered. */
  readonly leavesOut?: readonly string[];
}

/** What every signature covers (SIG-04). */
export const DERIVED_COMPONENTS = ['@method', '@authority', '@path', '@query'] as const;
/** What one of a request with a body covers beside them (SIG-01). */
export const CONTENT_COMPONENTS = ['content-type', 'content-digest'] as const;
const ASKED_LIFETIME_SECONDS = 60;

/**
 * Signs a request, rightly or with one deviation; the MAC always fits what the headers say, so that a webhook can
 * refuse it for the deviation alone. A covered field that is absent is signed as empty, one that stands several times
 * as its values with commas between them (RFC 9421 section 2.1).
 * @returns the headers to send with the body
 */
export function forgeSignature(
  target: Target,
  request: Unsigned,
  deviation: SignatureDeviation = {},
): Signed {
  const { key = target.key, label = 'sv', leavesOut = [], covers = [] } = deviation;
  const hasBody = request.body.byteLength > 0;
  const content: HeaderPairs = [
    ['content-type', deviation.contentType ?? 'application/json'],
    ['content-digest', deviation.contentDigest ?? contentDigest(request.body)],
  ];
  const ofContent = hasBody ? content.filter(([name]) => !leavesOut.includes(name)) : [];
  const tickets = (request.headers ?? []).filter(([name]) => name === 'sv-ticket');
  const headers = [...ofContent, ...(request.headers ?? [])];
  const components = deviation.components ?? [
    ...DERIVED_COMPONENTS,
    ...[...ofContent, ...tickets].map(([name]) => name),
    ...covers,
  ];
  const parameters = parametersOf(key, deviation);
  const params = `(${components.map(writtenAs).join(' ')})${deviation.parameters?.(parameters) ?? parameters}`;
  const valueOf = valueReader(target, request, headers, deviation);
  const lines = components.map((component) => `${writtenAs(component)}: ${valueOf(component)}`);
  const right = [...lines, `"@signature-params": ${params}`].join('\n');
  const base = deviation.base?.(right) ?? right;
  const mac = createHmac('sha256', key.secret).update(utf8(base)).digest();
  return {
    headers: [
      ...headers,
      ['signature-input', `${label}=${params}`],
      ['signature', `${label}=:${toBase64(mac)}:`],
    ],
    base,
  };
}

function parametersOf(key: HmacKey, deviation: SignatureDeviation): string {
  const { created = Math.floor(Date.now() / 1000), nonce = randomToken() } = deviation;
  const {
    alg = 'hmac-sha256',
    tag = 'sv-webhook-v1',
    expires = created + ASKED_LIFETIME_SECONDS,
  } = deviation;
  return `;created=${created};expires=${expires};nonce="${nonce}";keyid="${key.id}";alg="${alg}";tag="${tag}"`;
}

function valueReader(
  target: Target,
  request: Unsigned,
  headers: HeaderPairs,
  deviation: SignatureDeviation,
): (component: Component) => string {
  const [path = '', query = ''] = request.path.split('?', 2);
  const derived: Readonly<Record<string, string>> = {
    '@method': request.method,
    '@authority': deviation.authority ?? authorityOf(target.webhookUrl),
    '@path': deviation.path ?? signedPath(target.webhookUrl, path),
    '@query': deviation.query ?? `?${query}`,
  };
  const fieldOf = (name: string): string =>
    headers
      .filter(([each]) => each.toLowerCase() === name)
      .map(([, value]) => value.replace(/^[ \t]+|[ \t]+$/g, ''))
      .join(', ');
  return (component) =>
    typeof component === 'string' ? (derived[component] ?? fieldOf(component)) : component.value;
}

function writtenAs(component: Component): string {
  return typeof component === 'string' ? `"${component}"` : component.written;
}
