import { Writable } from 'node:stream';
import {
  type Clock,
  HTTP_TARGET_HEADER,
  type WebhookErrorCode,
  answerFieldsThatTravel,
  isWebhookErrorCode,
  parseWireObject,
  signRequest,
  signedTarget,
  targetProblem,
} from '@svault/shared';
import { withTraceHeaders } from '@svault/server-kit/tracing';
import {
  type AnswerHead,
  type Egress,
  EgressFailed,
  EgressRefused,
  type TakeAnswer,
} from '@svault/shared/egress';
import { type ProxyFailure, proxyFailureSchema } from '@svault/shared/schemas';
import { kindOf } from '../access/decision.ts';
import { outgoingFields } from '../access/upstream-request.ts';
import { GATEWAY_FAILURES, readRetryAfter } from '../webhook/client.ts';
import type { OnlineStatus } from '../webhook/outages.ts';
import type { Tickets } from '../webhook/tickets.ts';
import type { WebhookKeys } from '../webhook/webhook-keys.ts';
import type { ForwardTimeouts, ProxyExchange, WebhookUse } from './exchange.ts';

/** The result of one call. */
export type ProxyAnswer =
  /** The upstream's answer was sent, whole or in part, or the caller has disconnected. */
  | { readonly kind: 'finished' }
  /** The webhook refused. */
  | {
      readonly kind: 'refused';
      readonly code: WebhookErrorCode;
      readonly failure: ProxyFailure | undefined;
      readonly retryAfterSeconds: number | undefined;
    }
  /** No answer came, or one of neither webhook nor upstream. */
  | { readonly kind: 'unavailable'; readonly why: string };

/** Makes one signed `POST /v1/proxy` with a fresh ticket and nonce, never retried (PROTOCOL.md TRN-26). */
export type ProxyCall = (use: WebhookUse, exchange: ProxyExchange, take: TakeAnswer) => Promise<ProxyAnswer>;

const PATH = '/v1/proxy';
const FINISHED: ProxyAnswer = { kind: 'finished' };

export function createProxyCall(options: {
  readonly egress: Egress;
  readonly keys: WebhookKeys;
  readonly tickets: Tickets;
  readonly status: OnlineStatus;
  readonly clock: Clock;
  readonly timeouts: ForwardTimeouts;
}): ProxyCall {
  const { egress, keys, tickets, status, clock, timeouts } = options;

  /** For an HTTP API every field is signed, so that no intermediary can add one (PROTOCOL.md section 5.8). */
  const signedHeaders = (
    use: WebhookUse,
    { method, fields, body, target = '' }: ProxyExchange,
  ): Record<string, string> => {
    const { vaultId, proxyId, origin, webhook, config } = use;
    const { url, keyId, keyWrapped } = webhook;
    const kind = kindOf(use);
    const outgoing = outgoingFields(kind, withTraceHeaders(fields, PATH), body);
    const contentType = outgoing['content-type'];
    const about = { proxyId, serviceName: config.serviceName, method, ticketId: origin.requestId };
    const ticket = tickets.proxy(vaultId, webhook, about);
    const signed = signRequest({
      method: 'POST',
      ...signedTarget(url, PATH),
      headers: {
        ...(kind === 'http' && { ...outgoing, [HTTP_TARGET_HEADER]: target }),
        // Sent without a body as well (PROTOCOL.md section 5.6), since upstreams may check it.
        ...(contentType !== undefined && { 'content-type': contentType }),
        'sv-ticket': ticket,
      },
      body,
      key: keys.open(vaultId, { id: keyId, wrapped: keyWrapped }),
      nowMs: clock.now(),
    });
    return { ...outgoing, ...signed };
  };

  return async (use, exchange, take) => {
    const { vaultId, proxyId, webhook } = use;
    const { body, signal } = exchange;
    const problem = targetProblem(exchange.target ?? '', use.config.upstreamUrl);
    // The webhook would deny it the same way.
    if (problem !== undefined)
      return {
        ...{ kind: 'refused', code: 'REQUEST_NOT_ALLOWED' },
        ...{ failure: { cause: problem }, retryAfterSeconds: undefined },
      };
    const outcome = status.callStarted(vaultId);
    let head: AnswerHead | undefined;
    let refusal: RefusalBody | undefined;
    let deadline: NodeJS.Timeout | undefined;
    const takeAnswer: TakeAnswer = (answer) => {
      head = answer;
      if (originOf(answer) === 'upstream') {
        outcome.answered();
        return take({ status: answer.status, fields: fieldsOf(answer, exchange) });
      }
      const taking = new RefusalBody();
      refusal = taking;
      deadline = setTimeout(() => taking.destroy(), REFUSAL_MS);
      return taking;
    };
    try {
      await egress.stream(
        {
          method: 'POST',
          url: webhook.url + PATH,
          headers: signedHeaders(use, exchange),
          ...(body.byteLength > 0 && { body }),
          headTimeoutMs: timeouts.headMs,
          idleTimeoutMs: timeouts.idleMs,
          // By proxy and not by account, so that the streams of one proxy leave connections for another.
          partition: proxyId,
          signal,
        },
        takeAnswer,
      );
    } catch (error) {
      if (signal.aborted || isOfUpstream(head)) return FINISHED;
      if (error instanceof EgressRefused) return unavailable(error.message);
      if (!(error instanceof EgressFailed)) throw error;
      const how = error.kind === 'timeout' ? 'late' : 'broken';
      if (error.kind !== 'protocol' && (head === undefined || GATEWAY_FAILURES.includes(head.status)))
        outcome.failed(how);
      return unavailable(error.message);
    } finally {
      clearTimeout(deadline);
    }
    if (head === undefined || isOfUpstream(head)) return FINISHED;
    const answered = refusal?.body();
    const code = answered?.['code'];
    const { status: httpStatus } = head;
    if (originOf(head) === 'webhook' && httpStatus >= 400 && isWebhookErrorCode(code)) {
      outcome.answered();
      const retryAfter = head.fields.find(([name]) => name === 'retry-after')?.[1];
      const failure = proxyFailureSchema.safeParse(answered).data;
      return { kind: 'refused', code, failure, retryAfterSeconds: readRetryAfter(retryAfter) };
    }
    if (GATEWAY_FAILURES.includes(httpStatus) && typeof code !== 'string') outcome.failed('broken');
    return unavailable(`an answer of neither webhook nor upstream: ${httpStatus}`);
  };
}

/** For a HEAD the webhook's response has no body, so the upstream's `content-length` is in `sv-content-length`. */
function fieldsOf({ fields }: AnswerHead, { method }: ProxyExchange): AnswerHead['fields'] {
  const travelling = answerFieldsThatTravel(fields);
  if (method !== 'HEAD') return travelling;
  const length = fields.find(([name]) => name === 'sv-content-length')?.[1];
  const others = travelling.filter(([name]) => name !== 'content-length');
  return length === undefined ? others : [...others, ['content-length', length]];
}

const unavailable = (why: string): ProxyAnswer => ({ kind: 'unavailable', why });

/** PROTOCOL.md PRX-27 and PRX-28: who answers. Undefined where the field is absent, repeated or unknown. */
function originOf({ fields }: AnswerHead): 'upstream' | 'webhook' | undefined {
  const [origin, ...others] = fields.filter(([name]) => name === 'sv-proxy-origin').map(([, value]) => value);
  if (others.length > 0) return undefined;
  return origin === 'upstream' || origin === 'webhook' ? origin : undefined;
}

const isOfUpstream = (head: AnswerHead | undefined): boolean =>
  head !== undefined && originOf(head) === 'upstream';

/** A webhook's refusal is a short JSON object that comes at once; a larger or slower body is not its own. */
const MAX_REFUSAL_BYTES = 64 * 1024;
const REFUSAL_MS = 10_000;

/** Collects a body that is not the upstream's. */
class RefusalBody extends Writable {
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error) => void): void {
    this.#bytes += chunk.byteLength;
    if (this.#bytes > MAX_REFUSAL_BYTES) return done(new Error('too long for a refusal'));
    this.#chunks.push(chunk);
    done();
  }

  /** The collected JSON; undefined where it is no object. */
  body(): Readonly<Record<string, unknown>> | undefined {
    try {
      return parseWireObject(Buffer.concat(this.#chunks));
    } catch {
      return undefined;
    }
  }
}
