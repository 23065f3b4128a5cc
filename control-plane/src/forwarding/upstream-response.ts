import { Writable } from 'node:stream';
import type { AnswerHead, TakeAnswer } from '@svault/shared/egress';
import { type ProxyUse, kindOf } from '../access/decision.ts';
import { EventStreamGate } from './event-stream-gate.ts';
import type { ForwardRefusal, ProxyExchange } from './exchange.ts';
import {
  MALFORMED_REDIRECT,
  originOf,
  outsideProblem,
  withProxyAddresses,
  withoutSlash,
} from './http-addresses.ts';

/** How long the head of an event stream waits for the first event, which an HTTP+SSE server sends at once. */
const FIRST_EVENT_MS = 1_000;

/**
 * Sends the upstream's response to the caller, and denies those that would mislead it: a redirect, a 401 that looks like the
 * proxy's own, and for MCP a transport that needs a second address (PROTOCOL.md PRX-41 to PRX-44, section 5.8).
 *
 * @param options.proxyUrl the public URL of the proxy endpoint
 * @param options.send sends the head and returns the writable for the body
 */
export function createUpstreamResponse(
  exchange: ProxyExchange,
  use: ProxyUse,
  { proxyUrl, send }: { readonly proxyUrl: string; readonly send: TakeAnswer },
) {
  let refusal: ForwardRefusal | undefined;
  return {
    /** The denial that replaces the response; undefined where the response was sent, or where none came. */
    refusal: (): ForwardRefusal | undefined => refusal,
    take: (head: AnswerHead): Writable => {
      const verdict = judgeHead(head, use, { proxyUrl, target: exchange.target });
      if (verdict.kind === 'denied') {
        ({ refusal } = verdict);
        return new Writable().destroy();
      }
      const open = (): Writable => send(verdict.head);
      if (kindOf(use) === 'http' || !mayOpenOldTransport(exchange, head)) return open();
      const onEndpoint = (): void => {
        refusal = UNSUPPORTED;
      };
      // A client that names a negotiated revision waits for no `endpoint` event, so its stream is not delayed.
      const isNegotiated = exchange.fields.some(([name]) => name.toLowerCase() === 'mcp-protocol-version');
      return new EventStreamGate({ open, onEndpoint, waitMs: isNegotiated ? 0 : FIRST_EVENT_MS });
    },
  };
}

/** A session is one of Streamable HTTP, so its streams are not of the older transport. */
function mayOpenOldTransport(
  { method, fields: requested }: ProxyExchange,
  { status, fields }: AnswerHead,
): boolean {
  if (method !== 'GET' || status !== 200) return false;
  const hasSession = [...requested, ...fields].some(([name]) => name.toLowerCase() === 'mcp-session-id');
  return !hasSession && fields.some(([name, value]) => name === 'content-type' && EVENT_STREAM.test(value));
}

const EVENT_STREAM = /^text\/event-stream\s*(?:;|$)/i;

const UNSUPPORTED: ForwardRefusal = {
  status: 502,
  code: 'UPSTREAM_UNSUPPORTED',
  error:
    'The upstream speaks the HTTP+SSE transport of MCP revision 2024-11-05, whose messages go to a second address that ' +
    'the server names in its first event. The proxy carries Streamable HTTP. The owner of the proxy sets upstreamUrl to ' +
    'the Streamable HTTP address of this server, often /mcp, or updates the server.',
};

type HeadVerdict =
  | { readonly kind: 'sent'; readonly head: AnswerHead }
  | { readonly kind: 'denied'; readonly refusal: ForwardRefusal };

/**
 * Fields that name an address. A client resolves them against the proxy's address, and may call the result with the
 * proxy key; `refresh` is not forwarded at all (PROTOCOL.md PRX-25).
 */
const ADDRESS_FIELDS: ReadonlySet<string> = new Set([
  'location',
  'content-location',
  'link',
  'reporting-endpoints',
  'sourcemap',
  'x-sourcemap',
  'speculation-rules',
]);

/**
 * Keeps a response from sending a client elsewhere with its proxy key. For MCP a redirect to the upstream's own URL becomes
 * one to the proxy; any other is denied: rewritten to the proxy's only URL, it would send the client in a circle. For an HTTP
 * API all addresses below its base become addresses below the proxy's.
 *
 * @param head with the fields to forward
 */
function judgeHead(
  head: AnswerHead,
  use: ProxyUse,
  { proxyUrl, target }: { readonly proxyUrl: string; readonly target: string | undefined },
): HeadVerdict {
  const { status } = head;
  // The Fetch standard turns a 407 into a network error, which explains nothing to a client.
  if (status === 401 || status === 407) return denied('UPSTREAM_UNAUTHORIZED', unauthorized(use, status));
  const locations = head.fields.filter(([name]) => name === 'location').map(([, value]) => value);
  const fields = head.fields.filter(([name]) => !ADDRESS_FIELDS.has(name));
  // RFC 9110 section 15.4.5: a 304 redirects nowhere.
  const isRedirect = status >= 300 && status <= 399 && status !== 304 && locations.length > 0;
  if (use.kind === 'webhook' && use.config.kind === 'http') {
    const addresses = { ...use.config, target, proxyUrl };
    const problem = isRedirect ? outsideProblem(locations, addresses) : undefined;
    if (problem !== undefined) return denied('UPSTREAM_REDIRECT', problem);
    return {
      kind: 'sent',
      head: { status, fields: [...fields, ...withProxyAddresses(head.fields, addresses)] },
    };
  }
  if (!isRedirect) return { kind: 'sent', head: { status, fields } };
  const problem = redirectProblem(locations, upstreamUrlOf(use));
  if (problem !== undefined) return denied('UPSTREAM_REDIRECT', problem);
  return { kind: 'sent', head: { status, fields: [...fields, ['location', proxyUrl]] } };
}

export const upstreamUrlOf = (use: ProxyUse): string =>
  use.kind === 'webhook' ? use.config.upstreamUrl : use.proxy.upstreamUrl;

/** @returns undefined for a redirect to the upstream's own URL */
function redirectProblem(
  [location = '', ...others]: readonly string[],
  upstreamUrl: string,
): string | undefined {
  const upstream = new URL(upstreamUrl);
  if (others.length > 0 || !URL.canParse(location, upstreamUrl)) return MALFORMED_REDIRECT;
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

function unauthorized(use: ProxyUse, status: number): string {
  if (use.kind === 'session')
    return (
      `The upstream answered ${status}: it does not accept the session of the agent that this proxy acts for. The proxy ` +
      'key is in order. The operator of the upstream checks how it introspects svsess_ tokens.'
    );
  const name = use.config.serviceName;
  const quoted = JSON.stringify(name);
  return (
    `The upstream answered ${status}: it does not accept the credential ${quoted}. The proxy key is in order. ` +
    `The owner of the credential stores one that works: svault set ${/^[\w.-]+$/.test(name) ? name : quoted}`
  );
}

const denied = (code: ForwardRefusal['code'], error: string): HeadVerdict => ({
  kind: 'denied',
  refusal: { status: 502, code, error },
});
