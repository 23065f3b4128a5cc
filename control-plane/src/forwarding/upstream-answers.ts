import { Writable } from 'node:stream';
import type { AnswerHead, TakeAnswer } from '@svault/shared/egress';
import type { ProxyUse } from '../access/proxy-access.ts';
import { EventStreamGate } from './event-stream-gate.ts';
import type { ForwardRefusal, ProxyExchange } from './forward.ts';
import { judgeAnswer } from './judge-answer.ts';

/** How long the head of an event stream waits for its first event; a server of the older transport sends it at once. */
const FIRST_EVENT_MS = 1_000;

/** Takes the answer to one exchange. */
export interface UpstreamAnswer {
  readonly take: TakeAnswer;
  /** What the caller is told instead of the answer; undefined where it went on, or where none came. */
  refusal(): ForwardRefusal | undefined;
}

export type TakeUpstreamAnswer = (
  exchange: ProxyExchange,
  use: ProxyUse,
  /** Sends the head, and gives what takes the body. */
  send: TakeAnswer,
) => UpstreamAnswer;

/**
 * Hands on what a client of the proxy may see of an upstream's answer, and refuses what would lead it astray: a redirect, a
 * 401 that looks like its own, the transport that needs a second address.
 *
 * @param options.proxyUrl the public address of the proxy endpoint
 */
export const createUpstreamAnswers =
  ({
    proxyUrl,
    firstEventMs = FIRST_EVENT_MS,
  }: {
    readonly proxyUrl: string;
    readonly firstEventMs?: number;
  }): TakeUpstreamAnswer =>
  (exchange, use, send) => {
    let refusal: ForwardRefusal | undefined;
    return {
      refusal: () => refusal,
      take: (head) => {
        const verdict = judgeAnswer(head, { use, proxyUrl });
        if (verdict.kind === 'refused') {
          ({ refusal } = verdict);
          return new Writable().destroy();
        }
        const open = (): Writable => send(verdict.head);
        if (!mayOpenOldTransport(exchange, head)) return open();
        const onEndpoint = (): void => {
          refusal = UNSUPPORTED;
        };
        const holdMs = exchange.fields.some(([name]) => isOfSpokenRevision(name)) ? 0 : firstEventMs;
        return new EventStreamGate({ open, onEndpoint, holdMs });
      },
    };
  };

/** Within a session of Streamable HTTP no stream is of the other transport. */
function mayOpenOldTransport(
  { method, fields: asked }: ProxyExchange,
  { status, fields }: AnswerHead,
): boolean {
  if (method !== 'GET' || status !== 200) return false;
  const hasSession = [...asked, ...fields].some(([name]) => name.toLowerCase() === 'mcp-session-id');
  return !hasSession && fields.some(([name, value]) => name === 'content-type' && EVENT_STREAM.test(value));
}

const EVENT_STREAM = /^text\/event-stream\s*(?:;|$)/i;

/** Sent by a client that has agreed on a revision already, and waits for no `endpoint`: its stream is not held back. */
const isOfSpokenRevision = (name: string): boolean => name.toLowerCase() === 'mcp-protocol-version';

const UNSUPPORTED: ForwardRefusal = {
  status: 502,
  code: 'UPSTREAM_UNSUPPORTED',
  error:
    'The upstream speaks the HTTP+SSE transport of MCP revision 2024-11-05, whose messages go to a second address that ' +
    'the server names in its first event. The proxy carries Streamable HTTP. The owner of the proxy sets upstreamUrl to ' +
    'the Streamable HTTP address of this server, often /mcp, or updates the server.',
};
