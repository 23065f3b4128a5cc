import type { AnswerHead, TakeAnswer } from '@svault/shared/egress';
import { Writable } from 'node:stream';
import type { ProxyUse } from '../access/decision.ts';
import { EventStreamGate } from './event-stream-gate.ts';
import type { ForwardRefusal, ProxyExchange } from './exchange.ts';

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

/** What becomes of an upstream's answer: it goes on, with these fields, or the caller is told something else instead. */
export type AnswerVerdict =
  | { readonly kind: 'passes'; readonly head: AnswerHead }
  | { readonly kind: 'refused'; readonly refusal: ForwardRefusal };

/**
 * Fields that name an address. A client resolves them against the proxy's address, and may call what they name with the
 * proxy key; `refresh` does not travel at all (PROTOCOL.md PRX-25).
 */
const ADDRESSES: ReadonlySet<string> = new Set([
  'location',
  'content-location',
  'link',
  'reporting-endpoints',
  'sourcemap',
  'x-sourcemap',
  'speculation-rules',
]);

/**
 * Keeps an upstream's answer from sending a client elsewhere with its proxy key (PROTOCOL.md PRX-41 to PRX-43). Pure.
 *
 * A redirect back to the upstream's own address becomes one to the proxy. The proxy has no address for any other, so
 * that a rewritten redirect would lead the client in a circle: it is refused, in words that say what to change.
 *
 * @param head as it would travel
 * @param proxyUrl the public address of the proxy endpoint
 */
export function judgeAnswer(
  head: AnswerHead,
  { use, proxyUrl }: { readonly use: ProxyUse; readonly proxyUrl: string },
): AnswerVerdict {
  const { status } = head;
  // The Fetch standard makes a network error of a 407, which says nothing to a client.
  if (status === 401 || status === 407) return refused('UPSTREAM_UNAUTHORIZED', unauthorized(use, status));
  const locations = head.fields.filter(([name]) => name === 'location').map(([, value]) => value);
  const fields = head.fields.filter(([name]) => !ADDRESSES.has(name));
  // RFC 9110 section 15.4.5: a 304 redirects nowhere.
  if (status < 300 || status > 399 || status === 304 || locations.length === 0)
    return { kind: 'passes', head: { status, fields } };
  const problem = redirectProblem(locations, upstreamUrlOf(use));
  if (problem !== undefined) return refused('UPSTREAM_REDIRECT', problem);
  return { kind: 'passes', head: { status, fields: [...fields, ['location', proxyUrl]] } };
}

/** The name of the credential that a use puts in; undefined for one that sends a session. */
const credentialOf = (use: ProxyUse): string | undefined =>
  use.kind === 'webhook' ? use.config.serviceName : undefined;

export const upstreamUrlOf = (use: ProxyUse): string =>
  use.kind === 'webhook' ? use.config.upstreamUrl : use.proxy.upstreamUrl;

/** @returns undefined for a redirect to the upstream's own address */
function redirectProblem(
  [location = '', ...others]: readonly string[],
  upstreamUrl: string,
): string | undefined {
  const upstream = new URL(upstreamUrl);
  if (others.length > 0 || !URL.canParse(location, upstreamUrl))
    return 'The upstream redirects to what is no address. Its operator has to mend that.';
  const target = new URL(location, upstream);
  if (target.origin !== upstream.origin)
    return (
      `The upstream redirects to another origin, ${originOf(target)}, and the proxy does not follow. ` +
      'If the upstream has moved there, the owner of the proxy sets upstreamUrl to its new address.'
    );
  target.hash = '';
  if (target.href === upstream.href) return undefined;
  const what =
    withoutSlash(target.pathname) === withoutSlash(upstream.pathname) && target.search === upstream.search
      ? `its address ${target.pathname.endsWith('/') ? 'with' : 'without'} a trailing slash`
      : 'another address on its host';
  return (
    `The upstream redirects to ${what}, and the proxy does not follow. ` +
    'The owner of the proxy sets upstreamUrl to the address that the upstream redirects to.'
  );
}

/** Without user name, path and query; `origin` of other schemes than http is `null`. */
const originOf = ({ protocol, host }: URL): string => `${protocol}//${host}`;

const withoutSlash = (path: string): string => (path.endsWith('/') ? path.slice(0, -1) : path);

const unauthorized = (use: ProxyUse, status: number): string => {
  const name = credentialOf(use);
  return name === undefined
    ? `The upstream answered ${status}: it does not accept the session of the agent that this proxy acts for. The proxy ` +
        'key is in order. The operator of the upstream checks how it introspects svsess_ tokens.'
    : `The upstream answered ${status}: it does not accept the credential ${JSON.stringify(name)}. The proxy key is in order. ` +
        `The owner of the credential stores one that works: svault set ${/^[\w.-]+$/.test(name) ? name : JSON.stringify(name)}`;
};

const refused = (code: ForwardRefusal['code'], error: string): AnswerVerdict => ({
  kind: 'refused',
  refusal: { status: 502, code, error },
});
