import {
  type HeaderPairs,
  type ProxyTicket,
  isMcpMethod,
  namesParameter,
  targetProblem,
  upstreamTarget,
  withQuery,
} from '@svault/shared';
import {
  type HttpRequest,
  type RequestRule,
  type RequestRules,
  type RequestVerdict,
  compileRequestRules,
} from '@svault/shared/request-rules';
import {
  type DestinationProblem,
  type ProxyConfig,
  type ProxyFailure,
  allowedHostFor,
  destinationProblem,
  proxyFailureText,
} from '@svault/shared/schemas';
import { ApiError } from '../errors.ts';
import type { OpenRecord } from '../vault/vault.ts';
import { NotSignable, type UnsignedRequest, unsignedRequest } from './aws-request.ts';
import { upstreamFields } from './inject.ts';

/** The parts of a call that may be sent, and what a record's rules, if it has any, say about it. */
export interface AllowedCall {
  readonly sent: UnsignedRequest;
  /** For the log. Of the path the pattern that allowed it: the path itself could hold what no log should. */
  readonly rule?: Pick<Allowed, 'path' | 'tool'>;
  /** Its owner said by a rule that a server of MCP is there. */
  readonly isMcp: boolean;
  /** Of the tools that the answer lists, which may be handed on; absent: all. */
  readonly showsTool?: (name: string) => boolean;
}
type Allowed = Extract<RequestVerdict, { readonly allowed: true }>;

/** An agent's call, as the control plane sent it. */
export interface RequestedCall {
  readonly ticket: Pick<ProxyTicket, 'htm' | 'prx'>;
  /** The path and query after the upstream's URL; only for a proxy of an HTTP API (PROTOCOL.md section 5.8). */
  readonly target: string | undefined;
  /** As received. */
  readonly fields: HeaderPairs;
  /** Byte for byte; empty if there is none. */
  readonly body: Uint8Array;
}

/**
 * Asks what is sealed with the record whether the call may be made (PROTOCOL.md sections 5.6 to 5.8).
 * @throws ApiError DESTINATION_NOT_ALLOWED, REQUEST_NOT_ALLOWED
 */
export function mustAllowCall(
  call: RequestedCall,
  config: ProxyConfig,
  { settings }: Pick<OpenRecord, 'settings'>,
): AllowedCall {
  const problem = destinationProblem(config, settings);
  if (problem !== undefined) throw destinationNotAllowed(problem, config);
  mustMatchKind(call, config);
  const sent = config.signing === undefined ? call : withoutSignature(call, config);
  if (settings.requests === undefined) return { sent, isMcp: false };
  const rules = compiledRules(settings.requests);
  const request = requestOf({ ...call, ...sent }, config);
  const verdict = rules.decide(request);
  if (!verdict.allowed) throw requestNotAllowed({ cause: verdict.reason, tool: verdict.tool }, config);
  const { allowed: _allowed, isMcp = false, listsTools, ...rule } = verdict;
  return { sent, rule, isMcp, ...(listsTools === true && { showsTool: rules.toolsShownAt(request) }) };
}

/** @throws ApiError DESTINATION_NOT_ALLOWED, REQUEST_NOT_ALLOWED */
function mustMatchKind({ ticket, target }: RequestedCall, config: ProxyConfig): void {
  const { kind, upstreamUrl, queryTemplates = {} } = config;
  if ((kind === 'http') !== (target !== undefined) || (kind === undefined && !isMcpMethod(ticket.htm)))
    throw destinationNotAllowed({ cause: 'kind' }, config);
  if (target === undefined) return;
  const isTaken = Object.keys(queryTemplates).some((name) => namesParameter(target, name));
  const cause = targetProblem(target, upstreamUrl) ?? (isTaken ? 'query_parameter' : undefined);
  if (cause !== undefined) throw requestNotAllowed({ cause }, config);
}

function withoutSignature(call: RequestedCall, config: ProxyConfig): UnsignedRequest {
  try {
    return unsignedRequest(call, call.target ?? '');
  } catch (error) {
    throw error instanceof NotSignable ? requestNotAllowed({ cause: error.problem }, config) : error;
  }
}

/** By the settings of records, which are kept while these are used. */
const compiled = new WeakMap<readonly RequestRule[], RequestRules>();

function compiledRules(requests: readonly RequestRule[]): RequestRules {
  const known = compiled.get(requests);
  if (known !== undefined) return known;
  const rules = compileRequestRules(requests);
  compiled.set(requests, rules);
  return rules;
}

/** What would be sent, but for the credential, on which no rule depends. */
function requestOf(call: RequestedCall, config: ProxyConfig): HttpRequest {
  return { ...requestHead(call, config), body: call.body };
}

/** The same without the body. */
export function requestHead(
  { ticket, target, fields }: Omit<RequestedCall, 'body'>,
  config: ProxyConfig,
): Omit<HttpRequest, 'body'> & { readonly origin: URL } {
  const { upstreamUrl, headerTemplates, queryTemplates = {} } = config;
  const origin = new URL(upstreamUrl);
  return {
    origin,
    method: ticket.htm,
    target:
      target === undefined
        ? `${origin.pathname}${origin.search}`
        : withQuery(upstreamTarget(upstreamUrl, target), Object.entries(queryTemplates)),
    fields: upstreamFields(fields, Object.entries(headerTemplates), config),
  };
}

export function requestNotAllowed(
  { cause, tool }: Pick<ProxyFailure, 'cause'> & { readonly tool?: string | undefined },
  config: ProxyConfig,
): ApiError {
  return new ApiError('REQUEST_NOT_ALLOWED', proxyFailureText({ cause }, config), {
    reason: tool === undefined ? cause : `${cause}: tool ${tool}`,
    details: { cause },
  });
}

/** For the caller the cause in words, for the log the entry or header that is missing. */
export function destinationNotAllowed(problem: DestinationProblem, config: ProxyConfig): ApiError {
  const missing = missingIn(problem, config);
  return new ApiError('DESTINATION_NOT_ALLOWED', proxyFailureText(problem, config), {
    reason: missing === undefined ? problem.cause : `${problem.cause}: ${missing}`,
    details: problem,
  });
}

function missingIn(problem: DestinationProblem, { upstreamUrl }: ProxyConfig): string | undefined {
  if (problem.cause === 'host') return allowedHostFor(new URL(upstreamUrl));
  if (problem.cause === 'parameter') return problem.parameter;
  return problem.cause === 'header' ? problem.header : undefined;
}
