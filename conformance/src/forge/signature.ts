import { createHmac } from 'node:crypto';
import {
  authorityOf,
  contentDigest,
  randomToken,
  signatureBase,
  signedPath,
  toBase64,
  utf8,
} from '@svault/shared';
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
  readonly authority?: string;
  readonly components?: readonly string[];
  readonly contentType?: string;
  readonly contentDigest?: string;
}

const REQUIRED = ['@method', '@authority', '@path', '@query'];
const ASKED_LIFETIME_SECONDS = 60;

/**
 * Signs a request, rightly or with one deviation; the MAC always fits what the headers say, so that a webhook can
 * refuse it for the deviation alone.
 * @returns the headers to send with the body
 */
export function forgeSignature(
  target: Target,
  request: Unsigned,
  deviation: SignatureDeviation = {},
): Signed {
  const { key = target.key, created = Math.floor(Date.now() / 1000), nonce = randomToken() } = deviation;
  const { alg = 'hmac-sha256', tag = 'sv-webhook-v1', label = 'sv' } = deviation;
  const expires = deviation.expires ?? created + ASKED_LIFETIME_SECONDS;
  const hasBody = request.body.byteLength > 0;
  const content: HeaderPairs = hasBody
    ? [
        ['content-type', deviation.contentType ?? 'application/json'],
        ['content-digest', deviation.contentDigest ?? contentDigest(request.body)],
      ]
    : [];
  const tickets = (request.headers ?? []).filter(([name]) => name === 'sv-ticket');
  const headers = [...content, ...(request.headers ?? [])];
  const components = deviation.components ?? [...REQUIRED, ...[...content, ...tickets].map(([name]) => name)];
  const params =
    `(${components.map((name) => `"${name}"`).join(' ')});created=${created};expires=${expires};nonce="${nonce}"` +
    `;keyid="${key.id}";alg="${alg}";tag="${tag}"`;
  const [path = '', query] = request.path.split('?', 2);
  const base = signatureBase(
    {
      method: request.method,
      authority: deviation.authority ?? authorityOf(target.webhookUrl),
      path: signedPath(target.webhookUrl, path),
      query: query === undefined ? '' : `?${query}`,
      headers,
      body: request.body,
    },
    components,
    params,
  );
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
