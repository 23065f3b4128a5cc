import { Writable } from 'node:stream';
import {
  type Clock,
  type WebhookErrorCode,
  answerFieldsThatTravel,
  authorityOf,
  isWebhookErrorCode,
  parseWireObject,
  signRequest,
  signedPath,
} from '@svault/shared';
import {
  type AnswerHead,
  type Egress,
  EgressFailed,
  EgressRefused,
  type TakeAnswer,
} from '@svault/shared/egress';
import { GATEWAY_FAILURES, readRetryAfter } from '../webhook/client.ts';
import type { OnlineStatus } from '../webhook/outages.ts';
import type { Tickets } from '../webhook/tickets.ts';
import type { WebhookKeys } from '../webhook/webhook-keys.ts';
import type { ForwardTimeouts, ProxyExchange, WebhookUse } from './exchange.ts';
import { outgoingFields } from './hop-by-hop-headers.ts';

/** What came of one call. */
export type ProxyAnswer =
  /** The upstream's answer was handed on, whole or broken off; or the caller is gone. */
  | { readonly kind: 'over' }
  /** The webhook's own refusal. */
  | {
      readonly kind: 'refused';
      readonly code: WebhookErrorCode;
      readonly retryAfterSeconds: number | undefined;
    }
  /** Nobody answered, or neither the webhook nor the upstream did. */
  | { readonly kind: 'unavailable'; readonly why: string };

/** One signed `POST /v1/proxy` with a ticket and a nonce of its own, never repeated (protocol.md section 2). */
export type ProxyCall = (use: WebhookUse, exchange: ProxyExchange, take: TakeAnswer) => Promise<ProxyAnswer>;

const PATH = '/v1/proxy';
const OVER: ProxyAnswer = { kind: 'over' };

export function createProxyCall(options: {
  readonly egress: Egress;
  readonly keys: WebhookKeys;
  readonly tickets: Tickets;
  readonly status: OnlineStatus;
  readonly clock: Clock;
  readonly timeouts: ForwardTimeouts;
}): ProxyCall {
  const { egress, keys, tickets, status, clock, timeouts } = options;

  const signedHeaders = (
    use: WebhookUse,
    { method, fields, body }: ProxyExchange,
  ): Record<string, string> => {
    const { vaultId, proxyId, webhook, config } = use;
    const { url, keyId, keyWrapped } = webhook;
    const { contentType, fields: others } = outgoingFields(fields, body);
    const type = contentType === undefined ? {} : { 'content-type': contentType };
    const ticket = tickets.proxy(vaultId, webhook, { proxyId, serviceName: config.serviceName, method });
    const signed = signRequest({
      method: 'POST',
      authority: authorityOf(url),
      path: signedPath(url, PATH),
      // Without a body it travels as well (protocol.md 5.6): an upstream may answer by it.
      headers: { ...type, 'sv-ticket': ticket },
      body,
      key: keys.open(vaultId, { id: keyId, wrapped: keyWrapped }),
      nowMs: clock.now(),
    });
    return { ...others, ...signed };
  };

  return async (use, exchange, take) => {
    const { vaultId, proxyId, webhook } = use;
    const { body, signal } = exchange;
    const outcome = status.callStarted(vaultId);
    let head: AnswerHead | undefined;
    const refusal = new Collected();
    let deadline: NodeJS.Timeout | undefined;
    const takeAnswer: TakeAnswer = (answer) => {
      head = answer;
      if (originOf(answer) === 'upstream') {
        outcome.answered();
        return take({ status: answer.status, fields: answerFieldsThatTravel(answer.fields) });
      }
      deadline = setTimeout(() => refusal.destroy(), REFUSAL_MS);
      return refusal;
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
          // Not by account: the streams of one proxy must not keep those of another from a connection.
          partition: proxyId,
          signal,
        },
        takeAnswer,
      );
    } catch (error) {
      if (signal.aborted || isUpstreams(head)) return OVER;
      if (error instanceof EgressRefused) return unavailable(error.message);
      if (!(error instanceof EgressFailed)) throw error;
      const how = error.kind === 'timeout' ? 'late' : 'broken';
      if (error.kind !== 'protocol' && (head === undefined || GATEWAY_FAILURES.includes(head.status)))
        outcome.failed(how);
      return unavailable(error.message);
    } finally {
      clearTimeout(deadline);
    }
    if (head === undefined || isUpstreams(head)) return OVER;
    const code = refusal.code();
    const { status: httpStatus } = head;
    if (originOf(head) === 'webhook' && httpStatus >= 400 && isWebhookErrorCode(code)) {
      outcome.answered();
      const retryAfter = head.fields.find(([name]) => name === 'retry-after')?.[1];
      return { kind: 'refused', code, retryAfterSeconds: readRetryAfter(retryAfter) };
    }
    if (GATEWAY_FAILURES.includes(httpStatus) && typeof code !== 'string') outcome.failed('broken');
    return unavailable(`an answer of neither webhook nor upstream: ${httpStatus}`);
  };
}

const unavailable = (why: string): ProxyAnswer => ({ kind: 'unavailable', why });

/** protocol.md 5.6: who answers, said once; anything else comes from neither side. */
function originOf({ fields }: AnswerHead): 'upstream' | 'webhook' | undefined {
  const [origin, ...others] = fields.filter(([name]) => name === 'sv-proxy-origin').map(([, value]) => value);
  if (others.length > 0) return undefined;
  return origin === 'upstream' || origin === 'webhook' ? origin : undefined;
}

const isUpstreams = (head: AnswerHead | undefined): boolean =>
  head !== undefined && originOf(head) === 'upstream';

/** A refusal is a line of JSON, said at once; who says more, or takes longer, is not the webhook. */
const MAX_REFUSAL_BYTES = 64 * 1024;
const REFUSAL_MS = 10_000;

/** Takes what is no upstream's answer. */
class Collected extends Writable {
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error) => void): void {
    this.#bytes += chunk.byteLength;
    if (this.#bytes > MAX_REFUSAL_BYTES) return done(new Error('too long for a refusal'));
    this.#chunks.push(chunk);
    done();
  }

  /** The `code` of the JSON that was taken; undefined where that is none. */
  code(): unknown {
    try {
      return parseWireObject(Buffer.concat(this.#chunks))['code'];
    } catch {
      return undefined;
    }
  }
}
