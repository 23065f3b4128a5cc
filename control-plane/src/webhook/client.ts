import {
  type Clock,
  type HmacKey,
  JsonRefused,
  isWebhookErrorCode,
  parseWireObject,
  signRequest,
  signedTarget,
  utf8,
} from '@svault/shared';
import { traceHeaders } from '@svault/server-kit/tracing';
import { type Egress, EgressFailed, EgressRefused, type EgressResponse } from '@svault/shared/egress';
import { type ResponseLimit, responseLimit, operationOf } from './response-limits.ts';
import { WebhookCallFailed } from './call-failed.ts';

export interface WebhookCall {
  /** Base URL without trailing slash. */
  readonly url: string;
  readonly path:
    | '/v1/approvals'
    | '/v1/approvals/list'
    | '/v1/exchange'
    | '/v1/health'
    | '/v1/refresh'
    | '/v1/refresh-notify'
    | '/v1/storage';
  /** Signs the request: the shared key, or the code of a binding with the id `bind`. */
  readonly key: HmacKey;
  readonly body?: object;
  /** For the whole call; 10 s unless given. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface WebhookAnswer {
  /** Body of a 200 or 202. */
  readonly body: Record<string, unknown>;
  readonly latencyMs: number;
}

export interface CountedAnswer extends WebhookAnswer {
  /** Length of the body as received. */
  readonly bytes: number;
}

/** Calls a webhook with the signature of PROTOCOL.md section 3. */
export type SignedClient = ReturnType<typeof createSignedClient>;

/** PROTOCOL.md TRN-22. */
export const CALL_TIMEOUT_MS = 10_000;

export function createSignedClient({ egress, clock }: { readonly egress: Egress; readonly clock: Clock }) {
  return {
    /** Makes one request, with a fresh time and nonce. @throws WebhookCallFailed */
    call: async (call: WebhookCall): Promise<CountedAnswer> => {
      const { url, path, key, body: content = {}, timeoutMs = CALL_TIMEOUT_MS, signal } = call;
      const body = utf8(JSON.stringify(content));
      const nowMs = clock.now();
      const signed = {
        method: 'POST',
        ...signedTarget(url, path),
        body,
        key,
        nowMs,
      };
      const limit = responseLimit(path, content);
      const operation = operationOf(path, content);
      const startedMs = clock.monotonic();
      const answer = await egress
        .request({
          method: 'POST',
          url: url + path,
          headers: { ...signRequest(signed), ...traceHeaders(path) },
          body,
          timeoutMs,
          maxBytes: limit.bytes,
          ...(signal && { signal }),
        })
        .catch((error: unknown) => {
          throw describeFailure(error, operation, limit);
        });
      const latencyMs = Math.round(clock.monotonic() - startedMs);
      return { body: readAnswer(answer, operation, limit), latencyMs, bytes: answer.body.byteLength };
    },
  };
}

function describeFailure(error: unknown, operation: string, { bytes }: ResponseLimit): unknown {
  if (error instanceof EgressRefused)
    return new WebhookCallFailed('address', `the address is denied: ${error.reason}`, { cause: error });
  // An abort by this process says nothing about the webhook.
  if (!(error instanceof EgressFailed) || error.kind === 'aborted') return error;
  switch (error.kind) {
    case 'too_large':
      return tooLarge(operation, `${bytes} bytes`, { cause: error, bytes });
    case 'protocol':
      return new WebhookCallFailed('garbage', `the answer to ${operation} is not valid HTTP`, {
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

/** PROTOCOL.md TRN-34: with these and no `code` a gateway answers in place of the webhook. */
export const GATEWAY_FAILURES: readonly number[] = [502, 503, 504];

/** @returns the body of a success */
function readAnswer(
  { status, headers, body: bytes }: EgressResponse,
  operation: string,
  limit: ResponseLimit,
): Record<string, unknown> {
  const body = tryParse(bytes, operation, limit);
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
    `the answer to ${operation} does not follow the protocol: ${status}`,
    facts,
  );
}

/** Upper bound of the pause that a webhook asks for: its limits are by the hour (PROTOCOL.md REF-04). */
const MAX_RETRY_AFTER_SECONDS = 3_600;

/** RFC 9110 section 10.2.3, without dates. @returns whole seconds, at least 1; undefined where absent or malformed */
export function readRetryAfter(field: string | undefined): number | undefined {
  if (field === undefined || !/^[0-9]{1,9}$/.test(field)) return undefined;
  return Math.min(Math.max(Number(field), 1), MAX_RETRY_AFTER_SECONDS);
}

function tryParse(
  bytes: Uint8Array,
  operation: string,
  { commas }: ResponseLimit,
): Record<string, unknown> | undefined {
  try {
    return parseWireObject(bytes, { maxCommas: commas });
  } catch (error) {
    if (error instanceof JsonRefused && error.reason === 'values')
      throw tooLarge(operation, `${commas} values`, { bytes: bytes.byteLength });
    return undefined;
  }
}
