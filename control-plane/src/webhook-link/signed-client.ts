import {
  type Clock,
  type HmacKey,
  authorityOf,
  isWebhookErrorCode,
  parseWireObject,
  signRequest,
  signedPath,
  utf8,
} from '@svault/shared';
import { type Egress, EgressFailed, EgressRefused, type EgressResponse } from '@svault/shared/egress';
import { WebhookCallFailed } from './webhook-call-failed.ts';

export interface WebhookCall {
  /** The webhook's address without trailing slash. */
  readonly url: string;
  readonly path: '/v1/exchange' | '/v1/health' | '/v1/refresh' | '/v1/refresh-notify' | '/v1/storage';
  /** Signs the request; with `keyid="bind"` the code of a binding. */
  readonly key: HmacKey;
  readonly body?: object;
  /** For the whole call; 10 s unless given. */
  readonly timeoutMs?: number;
  /** Ends the call. */
  readonly signal?: AbortSignal;
}

export interface WebhookAnswer {
  /** Of a 200 or 202. */
  readonly body: Record<string, unknown>;
  readonly latencyMs: number;
}

/** Calls a webhook with the signature of protocol.md section 3. */
export interface SignedClient {
  /**
   * One request, never repeated, with a time and nonce of its own.
   * @throws WebhookCallFailed
   */
  call(call: WebhookCall): Promise<WebhookAnswer>;
}

const TIMEOUT_MS = 10_000;
/** The longest answer: a page of 500 tokens stays far below. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

export function createSignedClient({
  egress,
  clock,
}: {
  readonly egress: Egress;
  readonly clock: Clock;
}): SignedClient {
  return {
    call: async ({ url, path, key, body: content = {}, timeoutMs = TIMEOUT_MS, signal }) => {
      const body = utf8(JSON.stringify(content));
      const nowMs = clock.now();
      const signed = {
        method: 'POST',
        authority: authorityOf(url),
        path: signedPath(url, path),
        body,
        key,
        nowMs,
      };
      const startedMs = clock.monotonic();
      const answer = await egress
        .request({
          method: 'POST',
          url: url + path,
          headers: signRequest(signed),
          body,
          timeoutMs,
          maxBytes: MAX_ANSWER_BYTES,
          ...(signal && { signal }),
        })
        .catch((error: unknown) => {
          throw describeFailure(error);
        });
      const latencyMs = Math.round(clock.monotonic() - startedMs);
      return { body: readAnswer(answer), latencyMs };
    },
  };
}

function describeFailure(error: unknown): unknown {
  if (error instanceof EgressRefused)
    return new WebhookCallFailed('address', `the address is refused: ${error.reason}`, { cause: error });
  // Our own wish to stop says nothing about the webhook.
  if (!(error instanceof EgressFailed) || error.kind === 'aborted') return error;
  return error.kind === 'too_large'
    ? new WebhookCallFailed('garbage', 'the answer is too large', { cause: error })
    : new WebhookCallFailed('unreachable', `the call failed: ${error.kind}`, { cause: error });
}

const GATEWAY_FAILURES = [502, 503, 504];

/** @returns the body of a success */
function readAnswer({ status, headers, body: bytes }: EgressResponse): Record<string, unknown> {
  const body = tryParse(bytes);
  const code = body?.['code'];
  if ((status === 200 || status === 202) && body !== undefined) return body;
  if (status >= 400 && isWebhookErrorCode(code)) {
    const retryAfterSeconds = readRetryAfter(headers['retry-after']);
    throw new WebhookCallFailed('refused', `the webhook refused: ${status} ${code}`, {
      status,
      code,
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    });
  }
  if (GATEWAY_FAILURES.includes(status) && typeof code !== 'string')
    throw new WebhookCallFailed('unreachable', `a gateway answered ${status}`, { status });
  throw new WebhookCallFailed('garbage', `an answer that is none of the protocol: ${status}`, { status });
}

/** What a webhook may ask us to wait, at most: its own limit is by the hour (protocol.md section 7). */
const MAX_RETRY_AFTER_SECONDS = 3_600;

/** @returns whole seconds, at least 1; undefined where it says nothing that can be read */
function readRetryAfter(field: string | undefined): number | undefined {
  if (field === undefined || !/^[0-9]{1,9}$/.test(field)) return undefined;
  return Math.min(Math.max(Number(field), 1), MAX_RETRY_AFTER_SECONDS);
}

function tryParse(bytes: Uint8Array): Record<string, unknown> | undefined {
  try {
    return parseWireObject(bytes);
  } catch {
    return undefined;
  }
}
