import {
  type Clock,
  type HmacKey,
  JsonRefused,
  authorityOf,
  isWebhookErrorCode,
  parseWireObject,
  signRequest,
  signedPath,
  utf8,
} from '@svault/shared';
import { type Egress, EgressFailed, EgressRefused, type EgressResponse } from '@svault/shared/egress';
import { type AnswerCap, answerCap, operationOf } from './response-limits.ts';
import { WebhookCallFailed } from './call-failed.ts';

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

/** With what it cost. */
export interface CountedAnswer extends WebhookAnswer {
  /** Of the body as it came. */
  readonly bytes: number;
}

/** Calls a webhook with the signature of protocol.md section 3. */
export interface SignedClient {
  /**
   * One request, never repeated, with a time and nonce of its own.
   * @throws WebhookCallFailed
   */
  call(call: WebhookCall): Promise<CountedAnswer>;
}

/** protocol.md section 2. */
export const CALL_TIMEOUT_MS = 10_000;

export function createSignedClient({
  egress,
  clock,
}: {
  readonly egress: Egress;
  readonly clock: Clock;
}): SignedClient {
  return {
    call: async ({ url, path, key, body: content = {}, timeoutMs = CALL_TIMEOUT_MS, signal }) => {
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
      const cap = answerCap(path, content);
      const operation = operationOf(path, content);
      const startedMs = clock.monotonic();
      const answer = await egress
        .request({
          method: 'POST',
          url: url + path,
          headers: signRequest(signed),
          body,
          timeoutMs,
          maxBytes: cap.bytes,
          ...(signal && { signal }),
        })
        .catch((error: unknown) => {
          throw describeFailure(error, operation, cap);
        });
      const latencyMs = Math.round(clock.monotonic() - startedMs);
      return { body: readAnswer(answer, operation, cap), latencyMs, bytes: answer.body.byteLength };
    },
  };
}

function describeFailure(error: unknown, operation: string, { bytes }: AnswerCap): unknown {
  if (error instanceof EgressRefused)
    return new WebhookCallFailed('address', `the address is refused: ${error.reason}`, { cause: error });
  // Our own wish to stop says nothing about the webhook.
  if (!(error instanceof EgressFailed) || error.kind === 'aborted') return error;
  switch (error.kind) {
    case 'too_large':
      return tooLarge(operation, `${bytes} bytes`, { cause: error, bytes });
    case 'protocol':
      return new WebhookCallFailed('garbage', `the answer to ${operation} is no HTTP that is read`, {
        cause: error,
      });
    case 'timeout':
      return new WebhookCallFailed('unreachable', 'the call failed: timeout', { cause: error, isLate: true });
    default:
      return new WebhookCallFailed('unreachable', `the call failed: ${error.kind}`, { cause: error });
  }
}

const tooLarge = (
  operation: string,
  max: string,
  facts: { cause?: unknown; bytes: number },
): WebhookCallFailed =>
  new WebhookCallFailed('garbage', `the answer to ${operation} is larger than ${max}`, {
    ...facts,
    isTooLarge: true,
  });

const GATEWAY_FAILURES = [502, 503, 504];

/** @returns the body of a success */
function readAnswer(
  { status, headers, body: bytes }: EgressResponse,
  operation: string,
  cap: AnswerCap,
): Record<string, unknown> {
  const body = tryParse(bytes, operation, cap);
  const code = body?.['code'];
  if ((status === 200 || status === 202) && body !== undefined) return body;
  const facts = { status, bytes: bytes.byteLength };
  if (status >= 400 && isWebhookErrorCode(code)) {
    const retryAfterSeconds = readRetryAfter(headers['retry-after']);
    throw new WebhookCallFailed('refused', `the webhook refused: ${status} ${code}`, {
      ...facts,
      code,
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    });
  }
  if (GATEWAY_FAILURES.includes(status) && typeof code !== 'string')
    throw new WebhookCallFailed('unreachable', `a gateway answered ${status}`, facts);
  throw new WebhookCallFailed(
    'garbage',
    `an answer to ${operation} that is none of the protocol: ${status}`,
    facts,
  );
}

/** What a webhook may ask us to wait, at most: its own limit is by the hour (protocol.md section 7). */
const MAX_RETRY_AFTER_SECONDS = 3_600;

/** @returns whole seconds, at least 1; undefined where it says nothing that can be read */
function readRetryAfter(field: string | undefined): number | undefined {
  if (field === undefined || !/^[0-9]{1,9}$/.test(field)) return undefined;
  return Math.min(Math.max(Number(field), 1), MAX_RETRY_AFTER_SECONDS);
}

function tryParse(
  bytes: Uint8Array,
  operation: string,
  { commas }: AnswerCap,
): Record<string, unknown> | undefined {
  try {
    return parseWireObject(bytes, { maxCommas: commas });
  } catch (error) {
    if (error instanceof JsonRefused && error.reason === 'values')
      throw tooLarge(operation, `${commas} values`, { bytes: bytes.byteLength });
    return undefined;
  }
}
