import type { IncomingMessage, ServerResponse } from 'node:http';
import { abortOnDisconnect } from '@svault/server-kit/streamed-response';
import type { DirectHandler } from '@svault/server-kit/direct-routes';
import { rejectMethod } from '@svault/server-kit/request-handler';
import { apiHeaderList } from '@svault/server-kit/security-headers';
import { withStaticHeaders } from '@svault/server-kit/static-headers';
import { traceOfMessage } from '@svault/server-kit/tracing';
import { type Clock, type Ending, type HeaderPairs, headerPairs, keyDisplayPrefix } from '@svault/shared';
import { type ProxyAccess, type ProxyDecision, plainDenial } from '../../access/decision.ts';
import { ApiError } from '../../core/errors.ts';
import { FOREIGN_ORIGIN, createOriginCheck } from '../http/cors.ts';
import type { OriginReader } from '../http/request-origin.ts';
import { FOREIGN_HOST, type HostCheck } from '../http/host-check.ts';
import type { OngoingUses } from '../../access/ongoing-uses.ts';
import { outgoingFields } from '../../access/upstream-request.ts';
import { proxyKeyHash } from '../../core/proxy.ts';
import type { Forward, ProxyExchange } from '../../forwarding/exchange.ts';
import { type Asking, readAsking } from '../http/waiting.ts';
import { createStreamResponse } from './stream-response.ts';
import { type MessageHeader, NO_MESSAGE, classifyMessage, readMessage } from './rate-limit-class.ts';
import { receiveBody } from './read-body.ts';
import type { ProxyEndpoint } from './endpoints.ts';
import { type RequestRef, createErrorResponses } from './error-responses.ts';

/**
 * The endpoint of one kind of proxies (specification, "MCP proxy"): authenticates, authorises, then forwards.
 *
 * Mounted for every method of its path and before the headers of other routes: it writes its own, built once.
 */
export function createProxyHandler(
  endpoint: ProxyEndpoint,
  options: {
    readonly proxyAccess: ProxyAccess;
    readonly ongoingUses: OngoingUses;
    readonly forward: Forward;
    readonly originOf: OriginReader;
    readonly isOwnHost: HostCheck;
    readonly clock: Pick<Clock, 'monotonic'>;
    /** The service's public address, without trailing slash. */
    readonly baseUrl: string;
    readonly allowedOrigins: readonly string[];
  },
): DirectHandler {
  const { kind, methods, isMessage } = endpoint;
  const { proxyAccess: access, ongoingUses: ongoing, forward, originOf, isOwnHost, clock, baseUrl } = options;
  const staticHeaders = apiHeaderList({ https: baseUrl.startsWith('https:') });
  const responses = createErrorResponses(staticHeaders.flat(), endpoint);
  const streamTo = createStreamResponse();
  const checkOrigin = createOriginCheck({
    ownOrigin: new URL(baseUrl).origin,
    allowed: options.allowedOrigins,
    exposed: [],
  });

  const handle: DirectHandler = async (req, res) => {
    const { method = '' } = req;
    if (!methods.includes(method)) rejectMethod(req, methods);
    if (!isOwnHost(req)) throw new ApiError('FORBIDDEN', FOREIGN_HOST);
    if (!checkOrigin(req.headers.origin).allowed) throw new ApiError('FORBIDDEN', FOREIGN_ORIGIN);
    const unread = { isMessage: isMessage(method), id: null };
    const key = endpoint.keyOf(req);
    const keyHash = key === undefined ? undefined : proxyKeyHash(key);
    if (keyHash === undefined) {
      const denial = plainDenial(key === undefined ? 'MISSING_KEY' : 'INVALID_KEY');
      return responses.deny(res, unread, denial);
    }

    const asking = askingOf(req);
    const ending = abortOnDisconnect(res);
    const waiting = asking.wait === 0 ? undefined : { seconds: asking.wait, signal: ending };
    const origin = originOf(req, 'proxy', keyDisplayPrefix(key ?? ''));
    const received = await receiveBody(access, req, keyHash, origin, endpoint.coding);
    if (received.outcome === 'denied') return responses.deny(res, unread, received.denial);
    const { body, release } = received;
    try {
      const fields = headerPairs(req.rawHeaders);
      const { traffic, id } = unread.isMessage
        ? classifyMessage(body, () => headerOf(fields, body))
        : NO_MESSAGE;
      if (unread.isMessage) traceOfMessage(req, () => readMessage(body));
      const ref = { ...unread, id };
      const { reason } = asking;
      const exchange = { method, target: endpoint.targetOf(req), fields, body, reason };
      const startedMs = clock.monotonic();
      const decision = await access.decide({ keyHash, kind, traffic, ...exchange, waiting, origin });
      if (decision.outcome === 'denied') return responses.deny(res, ref, decision.denial);
      // A policy and the credential may both have asked for a person.
      const waitedSeconds = (clock.monotonic() - startedMs) / 1_000;
      const left = waiting && { ...waiting, seconds: waiting.seconds - waitedSeconds };
      await carry(res, { keyHash, ...decision }, { exchange: { ...exchange, waiting: left }, ref, ending });
    } finally {
      release();
    }
  };

  /** Forwards a call that is decided and committed to the log. Nothing is answered before that is on the disk. */
  async function carry(
    res: ServerResponse,
    {
      keyHash,
      use,
      stream,
      durable,
      recheck,
    }: { readonly keyHash: string } & Extract<ProxyDecision, { readonly outcome: 'use' }>,
    {
      exchange,
      ref,
      ending,
    }: {
      readonly exchange: Omit<ProxyExchange, 'durable' | 'recheck' | 'signal'>;
      readonly ref: RequestRef;
      readonly ending: Ending;
    },
  ): Promise<void> {
    const ongoingUse = ongoing.begin(keyHash, use, ending);
    durable.catch(() => ending.abort());
    try {
      const received = {
        ...exchange,
        signal: ending,
        durable,
        recheck: async () => ongoingUse.withdraw(await recheck()),
      };
      const failure = await forward(use, received, streamTo(res));
      const withdrawn = ongoingUse.denial();
      if (withdrawn !== undefined && !res.headersSent) responses.deny(res, ref, withdrawn);
      else if (failure !== undefined) responses.fail(res, ref, failure);
      // The head of the response could not be written: the client must not wait for it.
      else if (!res.headersSent) res.destroy();
    } finally {
      ongoingUse.end();
      stream.close();
    }
  }

  return withStaticHeaders(staticHeaders, handle);
}

const ASKING = { wait: 'The header sv-wait', reason: 'The header sv-reason, percent-encoded UTF-8,' };

/**
 * What the headers `sv-wait` and `sv-reason` say, which are never forwarded.
 *
 * @throws ApiError INVALID_REQUEST
 */
function askingOf({ headers }: IncomingMessage): Asking {
  const [wait, encoded] = [headers['sv-wait']?.toString(), headers['sv-reason']?.toString()];
  const asking = readAsking(wait, encoded && decoded(encoded), ASKING);
  if ('message' in asking) throw new ApiError('INVALID_REQUEST', asking.message);
  return asking;
}

/** @returns empty, which is no reason, where it is not percent-encoded UTF-8 */
function decoded(text: string): string {
  if (!/^[\x20-\x7e]*$/.test(text)) return '';
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

/** Of the fields that are forwarded: the upstream does not see the others. */
function headerOf(pairs: HeaderPairs, body: Uint8Array): MessageHeader {
  const fields = outgoingFields('mcp', pairs, body);
  return { contentType: fields['content-type'], mcpMethod: fields['mcp-method'] };
}
