import type { HeaderPairs, ProxyTicket } from '@svault/shared';
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
  allowedHostFor,
  destinationProblem,
  proxyFailureText,
} from '@svault/shared/schemas';
import { ApiError } from '../errors.ts';
import type { OpenRecord } from '../vault/vault.ts';
import { upstreamFields } from './inject.ts';

/** What the rules of a record say about a call; nothing where it has none. */
export interface AllowedCall {
  /** For the log. Of the path the pattern that allowed it: the path itself could hold what no log should. */
  readonly rule?: Pick<Allowed, 'path' | 'tool'>;
  /** Of the tools that the answer lists, which may be handed on; absent: all. */
  readonly showsTool?: (name: string) => boolean;
}
type Allowed = Extract<RequestVerdict, { readonly allowed: true }>;

/**
 * Asks what is sealed with the record whether the call may be made (PROTOCOL.md sections 5.6 and 5.7).
 * @throws ApiError DESTINATION_NOT_ALLOWED, REQUEST_NOT_ALLOWED
 */
export function mustAllowCall(
  call: { readonly ticket: ProxyTicket; readonly fields: HeaderPairs; readonly body: Uint8Array },
  config: ProxyConfig,
  { settings }: OpenRecord,
): AllowedCall {
  const problem = destinationProblem(config, settings);
  if (problem !== undefined) throw destinationNotAllowed(problem, config);
  if (settings.requests === undefined) return {};
  const rules = compiledRules(settings.requests);
  const request = requestOf(call, config);
  const verdict = rules.decide(request);
  if (!verdict.allowed) throw requestNotAllowed(verdict, config);
  const { allowed: _allowed, listsTools, ...rule } = verdict;
  return { rule, ...(listsTools === true && { showsTool: rules.toolsShownAt(request) }) };
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
function requestOf(
  { ticket, fields, body }: Parameters<typeof mustAllowCall>[0],
  { upstreamUrl, headerTemplates }: ProxyConfig,
): HttpRequest {
  const origin = new URL(upstreamUrl);
  return {
    origin,
    method: ticket.htm,
    target: `${origin.pathname}${origin.search}`,
    fields: upstreamFields(fields, Object.entries(headerTemplates)),
    body,
  };
}

function requestNotAllowed(
  { reason: cause, tool }: Extract<RequestVerdict, { readonly allowed: false }>,
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
  return problem.cause === 'header' ? problem.header : undefined;
}
