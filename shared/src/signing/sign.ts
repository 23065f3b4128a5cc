import { timeOrderedToken } from '../bytes.ts';
import { contentDigest } from './content-digest.ts';
import { encodedHmacSha256, isRequestKeyLength } from './hmac.ts';
import type { HmacKey, SignedMessage } from './message.ts';
import { REQUIRED_COMPONENTS, signatureBase } from './signature-base.ts';
import { ALGORITHM, KEY_ID, LABEL, TAG } from './signature-input.ts';

/** PROTOCOL.md section 3: the longest life of a signed request. */
const MAX_LIFETIME_SECONDS = 60;
const NO_BODY = new Uint8Array(0);

/** A request to sign. */
export interface RequestToSign {
  readonly method: string;
  /** See `authorityOf`. */
  readonly authority: string;
  /** See `signedPath`; without query. */
  readonly path: string;
  /** Further fields to send and to cover, say `sv-ticket`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Of the body; `application/json` unless given. Sent and covered if there is a body. */
  readonly contentType?: string;
  readonly body?: Uint8Array;
  readonly key: HmacKey;
  /** Wall clock, milliseconds since 1970. */
  readonly nowMs: number;
  /** 1 to 60; 60 unless given. */
  readonly ttlSeconds?: number;
  /**
   * Unless given (vectors), 80 random bits behind the time: the webhook's index then has those of one moment in one page.
   */
  readonly nonce?: string;
}

/**
 * Signs a request as PROTOCOL.md section 3 asks.
 * @returns the header fields to send, names in lower case: the given ones, `content-type` and `content-digest` where
 *   there is a body, `signature-input` and `signature`
 * @throws RangeError for a key of another length than 32 bytes (`bind`: 36), a malformed key id, or a lifetime outside
 *   1 to 60; SignatureRefused if a value cannot be part of a signature base
 */
export function signRequest(request: RequestToSign): Record<string, string> {
  const { key, body = NO_BODY, ttlSeconds = MAX_LIFETIME_SECONDS } = request;
  const { nonce = timeOrderedToken(request.nowMs) } = request;
  if (!KEY_ID.test(key.id)) throw new RangeError('a key id is 1 to 64 of A-Z a-z 0-9 _ -');
  if (!isRequestKeyLength(key.id, key.secret.byteLength))
    throw new RangeError('a key has 32 bytes, the code of a binding 36');
  if (!Number.isInteger(ttlSeconds) || ttlSeconds < 1 || ttlSeconds > MAX_LIFETIME_SECONDS)
    throw new RangeError(`a signed request lives 1 to ${MAX_LIFETIME_SECONDS} seconds`);
  const headers = fieldsToSend(request, body);
  const covered = [...REQUIRED_COMPONENTS, ...Object.keys(headers)];
  const created = Math.floor(request.nowMs / 1000);
  const signatureParams =
    `(${covered.map((name) => `"${name}"`).join(' ')});created=${created};expires=${created + ttlSeconds}` +
    `;nonce="${nonce}";keyid="${key.id}";alg="${ALGORITHM}";tag="${TAG}"`;
  const message: SignedMessage = {
    method: request.method,
    authority: request.authority,
    path: request.path,
    query: '',
    headers: Object.entries(headers),
    body,
  };
  const base = signatureBase(message, covered, signatureParams);
  return {
    ...headers,
    'signature-input': `${LABEL}=${signatureParams}`,
    signature: `${LABEL}=:${encodedHmacSha256(key.secret, base, 'base64')}:`,
  };
}

/** All of these are covered, in this order. */
function fieldsToSend(request: RequestToSign, body: Uint8Array): Record<string, string> {
  const fields: Record<string, string> = {};
  if (body.byteLength > 0) {
    fields['content-type'] = request.contentType ?? 'application/json';
    fields['content-digest'] = contentDigest(body);
  }
  for (const [name, value] of Object.entries(request.headers ?? {})) fields[name.toLowerCase()] = value;
  return fields;
}
